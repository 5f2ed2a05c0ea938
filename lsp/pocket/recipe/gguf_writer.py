"""Writes GGUF files (version 3) with F32, F16 and Q8_0 tensors."""
import struct

import numpy as np

# Value types of GGUF metadata.
U32, I32, F32, BOOL, STRING, ARRAY = 4, 5, 6, 7, 8, 9
_FORMATS = {U32: "<I", I32: "<i", F32: "<f", BOOL: "<?"}
_TENSOR_TYPES = {"F32": 0, "F16": 1, "Q8_0": 8}
_ALIGNMENT = 32


def pack(kind, values):
    """Floats as the bytes of a tensor. Q8_0: blocks of 32, an F16 scale and 32 signed bytes each."""
    values = np.asarray(values, np.float32).reshape(-1)
    if kind == "F32":
        return values.tobytes()
    if kind == "F16":
        return values.astype("<f2").tobytes()
    blocks = values.reshape(-1, 32)
    scales = np.abs(blocks).max(1) / 127
    steps = np.round(blocks / np.where(scales == 0, 1, scales)[:, None]).astype(np.int8)
    return np.concatenate([scales.astype("<f2").view(np.uint8).reshape(-1, 2), steps.view(np.uint8)], 1).tobytes()


def _string(text):
    data = text.encode()
    return struct.pack("<Q", len(data)) + data


def _value(kind, value, element=None):
    if kind == STRING:
        return _string(value)
    if kind == ARRAY:
        return struct.pack("<IQ", element, len(value)) + b"".join(_value(element, each) for each in value)
    return struct.pack(_FORMATS[kind], value)


def _padding(length):
    return b"\0" * (-length % _ALIGNMENT)


def write(path, metadata, tensors):
    """metadata: {key: (value type, value[, element type])}; tensors: [(name, dims, type, bytes)], the
    contiguous dimension first."""
    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(metadata))
    for key, entry in metadata.items():
        head += _string(key) + struct.pack("<I", entry[0]) + _value(*entry)
    offset = 0
    for name, dims, kind, data in tensors:
        head += _string(name) + struct.pack("<I", len(dims)) + b"".join(struct.pack("<Q", d) for d in dims)
        head += struct.pack("<iQ", _TENSOR_TYPES[kind], offset)
        offset += len(data) + len(_padding(len(data)))
    with open(path, "wb") as file:
        file.write(head + _padding(len(head)))
        for *_, data in tensors:
            file.write(data + _padding(len(data)))
