"""Which GPUs does CUDA's driver find, and which of kiln's profiles fits the first?"""
import ctypes

ATTRIBUTES = {"multiprocessors": 16, "warp": 10, "block threads": 1, "shared bytes": 8,
              "shared bytes at most": 97, "registers": 12, "clock kHz": 13, "memory clock kHz": 36,
              "memory bus bits": 37, "L2 bytes": 38, "major": 75, "minor": 76}


def main():
    try:
        cuda = ctypes.CDLL("libcuda.so.1")
    except OSError as error:
        print("no CUDA driver:", error)
        return
    status, count = cuda.cuInit(0), ctypes.c_int(0)
    if status != 0 or cuda.cuDeviceGetCount(ctypes.byref(count)) != 0 or count.value == 0:
        print("CUDA's driver finds no device: cuInit is", status)
        return
    for i in range(count.value):
        device, name = ctypes.c_int(0), ctypes.create_string_buffer(256)
        cuda.cuDeviceGet(ctypes.byref(device), i)
        cuda.cuDeviceGetName(name, 256, device)
        values = {}
        for what, number in ATTRIBUTES.items():
            value = ctypes.c_int(0)
            cuda.cuDeviceGetAttribute(ctypes.byref(value), number, device)
            values[what] = value.value
        print(f"gpu {i}: {name.value.decode()}", values)
        if i == 0:
            major = values["major"]
            name = "cuda-sm90" if major >= 9 else "cuda-sm80" if major == 8 else "cuda-sm70"
            print("profile", name)


main()
