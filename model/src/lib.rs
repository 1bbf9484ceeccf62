//! Image classification with ResNet-50 on the CPU.
