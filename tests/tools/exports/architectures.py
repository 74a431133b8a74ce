"""Architectures of torchvision and transformers: random weights, small inputs.

A row is a name and a function that returns (module, inputs, input names). Modules return a tensor or a tuple of
tensors. Sizes are cut where a constructor allows it: what is tested is the way in, not the arithmetic's length.
"""
import torch
import torchvision
import transformers

ROWS = {}


def row(make):
    ROWS[make.__name__] = make
    return make


def image(*shape):
    return torch.randn(*shape)


# ---- torchvision ----


class Tuple(torch.nn.Module):
    """Dictionaries as tuples, in their order."""

    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, *x):
        y = self.inner(*x)
        if isinstance(y, dict):
            y = tuple(y.values())
        return y[-1] if isinstance(y, list) else y


def vision(name, size, make=None, **options):
    make = make or getattr(torchvision.models, name)

    def build():
        return make(weights=None, **options), (image(1, 3, size, size),), ["x"]
    ROWS[name] = build


for _name, _size in (
        ("resnet50", 64), ("resnext50_32x4d", 64), ("wide_resnet50_2", 32),
        ("densenet121", 64), ("squeezenet1_1", 64), ("mobilenet_v2", 64), ("mobilenet_v3_small", 64),
        ("mobilenet_v3_large", 64), ("mnasnet0_5", 64), ("shufflenet_v2_x1_0", 64), ("efficientnet_b0", 64),
        ("efficientnet_v2_s", 64), ("regnet_y_400mf", 64), ("regnet_x_400mf", 64), ("convnext_tiny", 64),
        ("swin_t", 64), ("swin_v2_t", 64)):
    vision(_name, _size)
vision("googlenet", 64, init_weights=False, aux_logits=False)
vision("inception_v3", 96, init_weights=False, aux_logits=False)


def without_pooling(name, channels):
    """Their adaptive pooling to 6 x 6 or 7 x 7 would want large images."""
    def build():
        m = getattr(torchvision.models, name)(weights=None)
        m.avgpool = torch.nn.AdaptiveAvgPool2d(1)
        m.classifier = torch.nn.Sequential(torch.nn.Dropout(), torch.nn.Linear(channels, 64), torch.nn.ReLU(),
                                           torch.nn.Linear(64, 10))
        return m, (image(1, 3, 64, 64),), ["x"]
    ROWS[name] = build


without_pooling("alexnet", 256)
without_pooling("vgg11_bn", 512)


@row
def vit():
    m = torchvision.models.VisionTransformer(image_size=32, patch_size=8, num_layers=3, num_heads=4, hidden_dim=64,
                                             mlp_dim=128, num_classes=10)
    torch.nn.init.normal_(m.heads.head.weight, std=0.1)
    return m, (image(1, 3, 32, 32),), ["x"]


@row
def maxvit():
    m = torchvision.models.MaxVit(input_size=(64, 64), stem_channels=16, partition_size=2, block_channels=[16, 32],
                                  block_layers=[1, 1], head_dim=8, stochastic_depth_prob=0.0, num_classes=10)
    return m, (image(1, 3, 64, 64),), ["x"]


@row
def fcn_resnet50():
    m = torchvision.models.segmentation.fcn_resnet50(weights=None, weights_backbone=None, num_classes=5)
    return Tuple(m), (image(1, 3, 64, 64),), ["x"]


@row
def deeplabv3_mobilenet_v3_large():
    m = torchvision.models.segmentation.deeplabv3_mobilenet_v3_large(weights=None, weights_backbone=None, num_classes=5)
    return Tuple(m), (image(1, 3, 64, 64),), ["x"]


@row
def lraspp_mobilenet_v3_large():
    m = torchvision.models.segmentation.lraspp_mobilenet_v3_large(weights=None, weights_backbone=None, num_classes=5)
    return Tuple(m), (image(1, 3, 64, 64),), ["x"]


@row
def r3d_18():
    return torchvision.models.video.r3d_18(weights=None), (image(1, 3, 4, 32, 32),), ["x"]


@row
def r2plus1d_18():
    return torchvision.models.video.r2plus1d_18(weights=None), (image(1, 3, 4, 32, 32),), ["x"]


@row
def feature_pyramid():
    """The detectors' backbone: resize, sums, several outputs."""
    m = torchvision.models.detection.backbone_utils.resnet_fpn_backbone(backbone_name="resnet18", weights=None)
    return Tuple(m), (image(1, 3, 64, 96),), ["x"]


# ---- transformers ----

VOCABULARY, LENGTH = 97, 11
ATTENTION = "eager"  # or "sdpa": one operator, which the TorchScript exporter knows from opset 14 on
SMALL = dict(vocab_size=VOCABULARY, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64)


class First(torch.nn.Module):
    """A model of transformers: tensors by position, its first output."""

    def __init__(self, inner, names, **fixed):
        super().__init__()
        self.inner, self.names, self.fixed = inner, names, fixed

    def forward(self, *x):
        return self.inner(**dict(zip(self.names, x)), **self.fixed, return_dict=False)[0]


def built(make, config):
    config._attn_implementation = ATTENTION if make._supports_sdpa else "eager"
    return make(config)


def tokens(n=LENGTH):
    return torch.randint(3, VOCABULARY - 1, (1, n))


def mask():
    m = torch.ones(1, LENGTH, dtype=torch.int64)
    m[0, -2:] = 0
    return m


def text(name, make, config, masked=True, **fixed):
    def build():
        names = ["input_ids"] + (["attention_mask"] if masked else [])
        return First(built(make, config()), names, **fixed), (tokens(), mask())[:len(names)], names
    ROWS[name] = build


T = transformers
text("bert", T.BertModel, lambda: T.BertConfig(**SMALL))
text("roberta", T.RobertaModel, lambda: T.RobertaConfig(**SMALL))
text("albert", T.AlbertModel, lambda: T.AlbertConfig(**SMALL, embedding_size=16))
text("electra", T.ElectraModel, lambda: T.ElectraConfig(**SMALL, embedding_size=16))
text("distilbert", T.DistilBertModel,
     lambda: T.DistilBertConfig(vocab_size=VOCABULARY, dim=32, n_layers=2, n_heads=4, hidden_dim=64))
text("mpnet", T.MPNetModel, lambda: T.MPNetConfig(**SMALL))
text("deberta", T.DebertaModel,
     lambda: T.DebertaConfig(**SMALL, relative_attention=True, pos_att_type=["c2p", "p2c"]))
text("gpt2", T.GPT2LMHeadModel, lambda: T.GPT2Config(vocab_size=VOCABULARY, n_embd=32, n_layer=2, n_head=4),
     use_cache=False)
text("opt", T.OPTForCausalLM, lambda: T.OPTConfig(vocab_size=VOCABULARY, hidden_size=32, num_hidden_layers=2, ffn_dim=64,
                                                  num_attention_heads=4, word_embed_proj_dim=32), use_cache=False)
text("llama", T.LlamaForCausalLM, lambda: T.LlamaConfig(**SMALL, num_key_value_heads=2), use_cache=False)
text("mistral", T.MistralForCausalLM, lambda: T.MistralConfig(**SMALL, num_key_value_heads=2, sliding_window=4),
     use_cache=False)
text("qwen2", T.Qwen2ForCausalLM, lambda: T.Qwen2Config(**SMALL, num_key_value_heads=2), use_cache=False)
text("gemma", T.GemmaForCausalLM, lambda: T.GemmaConfig(**SMALL, num_key_value_heads=2, head_dim=8), use_cache=False)
text("phi", T.PhiForCausalLM, lambda: T.PhiConfig(**SMALL), use_cache=False)
text("gpt_neox", T.GPTNeoXForCausalLM, lambda: T.GPTNeoXConfig(**SMALL), use_cache=False)
text("bloom", T.BloomForCausalLM, lambda: T.BloomConfig(vocab_size=VOCABULARY, hidden_size=32, n_layer=2, n_head=4),
     use_cache=False)


@row
def t5():
    m = built(T.T5Model, T.T5Config(vocab_size=VOCABULARY, d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4))
    names = ["input_ids", "decoder_input_ids"]
    return First(m, names, use_cache=False), (tokens(), tokens(7)), names


@row
def bart():
    m = built(T.BartModel, T.BartConfig(vocab_size=VOCABULARY, d_model=32, encoder_layers=2, decoder_layers=2,
                                        encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=64,
                                        decoder_ffn_dim=64))
    names = ["input_ids", "decoder_input_ids"]
    return First(m, names, use_cache=False), (tokens(), tokens(7)), names


@row
def whisper_encoder():
    m = built(T.WhisperModel, T.WhisperConfig(
        vocab_size=VOCABULARY, num_mel_bins=16, d_model=32, encoder_layers=2, decoder_layers=1,
        encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=64, decoder_ffn_dim=64,
        max_source_positions=20, pad_token_id=0, bos_token_id=1, eos_token_id=2, decoder_start_token_id=1))
    return First(m.get_encoder(), ["input_features"]), (image(1, 16, 40),), ["input_features"]


@row
def wav2vec2():
    m = built(T.Wav2Vec2Model, T.Wav2Vec2Config(
        **SMALL, conv_dim=(16, 16, 16), conv_stride=(5, 2, 2), conv_kernel=(10, 3, 2), num_feat_extract_layers=3,
        num_conv_pos_embeddings=16, num_conv_pos_embedding_groups=4))
    return First(m, ["input_values"]), (image(1, 800),), ["input_values"]


def picture(name, make, config, size=32):
    def build():
        return First(built(make, config()), ["pixel_values"]), (image(1, 3, size, size),), ["pixel_values"]
    ROWS[name] = build


PATCHES = dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64, image_size=32,
               patch_size=8)
picture("deit", T.DeiTModel, lambda: T.DeiTConfig(**PATCHES))
picture("beit", T.BeitModel, lambda: T.BeitConfig(**PATCHES, use_relative_position_bias=True))
picture("dinov2", T.Dinov2Model, lambda: T.Dinov2Config(**{**PATCHES, "mlp_ratio": 2}))
picture("clip_vision", T.CLIPVisionModel, lambda: T.CLIPVisionConfig(**PATCHES))
picture("segformer", T.SegformerModel, lambda: T.SegformerConfig(hidden_sizes=[8, 16, 24, 32], depths=[1, 1, 1, 1],
                                                                 num_attention_heads=[1, 2, 3, 4]), 64)
picture("mobilevit", T.MobileViTModel, lambda: T.MobileViTConfig(
    hidden_sizes=[16, 24, 32], neck_hidden_sizes=[8, 8, 16, 16, 24, 32, 64], image_size=64), 64)
picture("convnextv2", T.ConvNextV2Model, lambda: T.ConvNextV2Config(hidden_sizes=[8, 16, 24, 32], depths=[1, 1, 2, 1]), 64)
picture("poolformer", T.PoolFormerModel, lambda: T.PoolFormerConfig(hidden_sizes=[8, 16, 24, 32], depths=[1, 1, 1, 1]), 64)


class Suppressed(torch.nn.Module):
    """A detector that ends in suppression of boxes, of each class by itself; as many as data has are left, or `best` of them."""

    def __init__(self, best: int = 0):
        super().__init__()
        self.best = best
        self.body = torch.nn.Conv2d(3, 8, 3, 2, 1)
        self.where, self.what = torch.nn.Conv2d(8, 4, 3, padding=1), torch.nn.Conv2d(8, 3, 3, padding=1)

    def forward(self, x):
        y = self.body(x).relu()
        delta = self.where(y).flatten(2).transpose(1, 2)[0]
        middle = torch.linspace(0.0, 8.0, delta.shape[0])[:, None] + delta[:, :2]
        size = delta[:, 2:].exp() * 2.0
        boxes = torch.cat([middle - size, middle + size], -1)
        scores, labels = self.what(y).flatten(2).transpose(1, 2)[0].sigmoid().max(-1)
        keep = torchvision.ops.batched_nms(boxes, scores, labels, 0.4)
        if self.best > 0:
            keep = keep[:self.best]
        return boxes[keep].clamp(min=0.0), scores[keep], labels[keep]


@row
def lstm():
    class Tagger(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.embed = torch.nn.Embedding(VOCABULARY, 16)
            self.cells = torch.nn.LSTM(16, 24, num_layers=2, bidirectional=True, batch_first=True)
            self.head = torch.nn.Linear(48, 9)

        def forward(self, x):
            return self.head(self.cells(self.embed(x))[0])
    return Tagger(), (tokens(),), ["x"]
