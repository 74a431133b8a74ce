"""Detectors of torchvision, whole: the image goes in, boxes, scores and labels that belong to data's number of objects
come out.

Heads get weights whose scores lie apart: where two are equal but for rounding, another engine may well take the other.
For the same reason few detections are asked for.
"""
import torch
import torchvision

from architectures import ROWS

D = torchvision.models.detection


class Detector(torch.nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, x):
        y = self.inner([x])
        return tuple((y[1] if isinstance(y, tuple) else y)[0].values())


def spread(module, heads, gain):
    """Weights whose results are `gain` times as wide as what they read."""
    for name, m in module.named_modules():
        if isinstance(m, (torch.nn.Conv2d, torch.nn.Linear)) and any(h in name for h in heads):
            torch.nn.init.normal_(m.weight, 0, gain / m.weight[0].numel() ** 0.5)
    return module


def detector(name, make, heads, gain, height=128, width=160, **options):
    def build():
        inner = make(weights=None, weights_backbone=None, num_classes=11, **options)
        return Detector(spread(inner, heads, gain)), (torch.rand(3, height, width),), ["x"]
    ROWS[name] = build


SIZES = dict(min_size=128, max_size=160)
RCNN = dict(rpn_pre_nms_top_n_test=40, rpn_post_nms_top_n_test=40, box_detections_per_img=10, **SIZES)
detector("ssdlite320", D.ssdlite320_mobilenet_v3_large, ["classification"], 3, 320, 320, detections_per_img=10,
         topk_candidates=50)
detector("ssd300", D.ssd300_vgg16, ["classification"], 0.5, 300, 300, detections_per_img=10, topk_candidates=50)
detector("retinanet", D.retinanet_resnet50_fpn, ["cls_logits"], 1, detections_per_img=10, topk_candidates=50, **SIZES)
detector("fcos", D.fcos_resnet50_fpn, ["cls_logits"], 2, detections_per_img=10, topk_candidates=50, **SIZES)
detector("faster_rcnn", D.fasterrcnn_resnet50_fpn, ["cls_score", "cls_logits"], 1, **RCNN)
detector("faster_rcnn_mobile", D.fasterrcnn_mobilenet_v3_large_320_fpn, ["cls_score", "cls_logits"], 100, **RCNN)
