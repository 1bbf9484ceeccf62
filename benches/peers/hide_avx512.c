// Preloaded into a process, makes the processor look as if it had nothing wider than AVX2.
//
// ONNX Runtime chooses its kernels by the processor and takes no advice. Linux can make the
// instruction that describes the processor fault; what it would have said is then said without
// AVX-512 and AMX.
#define _GNU_SOURCE
#include <cpuid.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#define ARCH_SET_CPUID 0x1012
#define BIT(n) (1u << (n))

static const unsigned AVX512_EBX = BIT(16) | BIT(17) | BIT(21) | BIT(26) | BIT(27) | BIT(28) | BIT(30) | BIT(31);
static const unsigned AVX512_ECX = BIT(1) | BIT(6) | BIT(11) | BIT(12) | BIT(14);
static const unsigned AVX512_AND_AMX_EDX = BIT(2) | BIT(3) | BIT(8) | BIT(22) | BIT(23) | BIT(24) | BIT(25);
static const unsigned VNNI_AND_BF16_EAX = BIT(4) | BIT(5);

static int let_cpuid_pass(unsigned long pass) { return syscall(SYS_arch_prctl, ARCH_SET_CPUID, pass); }

static void on_fault(int number, siginfo_t *info, void *context) {
    (void)number, (void)info;
    greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
    const unsigned char *code = (const unsigned char *)registers[REG_RIP];
    if (code[0] != 0x0f || code[1] != 0xa2) {
        // A fault of another kind: happens again, and is not caught.
        signal(SIGSEGV, SIG_DFL);
        return;
    }
    unsigned leaf = registers[REG_RAX], part = registers[REG_RCX], a, b, c, d;
    let_cpuid_pass(1);
    __cpuid_count(leaf, part, a, b, c, d);
    let_cpuid_pass(0);
    if (leaf == 7 && part == 0) {
        b &= ~AVX512_EBX, c &= ~AVX512_ECX, d &= ~AVX512_AND_AMX_EDX;
    } else if (leaf == 7 && part == 1) {
        a &= ~VNNI_AND_BF16_EAX;
    }
    registers[REG_RAX] = a, registers[REG_RBX] = b, registers[REG_RCX] = c, registers[REG_RDX] = d;
    registers[REG_RIP] += 2;
}

__attribute__((constructor)) static void hide(void) {
    struct sigaction action = {0};
    action.sa_sigaction = on_fault;
    action.sa_flags = SA_SIGINFO | SA_NODEFER;
    if (sigaction(SIGSEGV, &action, NULL) || let_cpuid_pass(0)) {
        perror("this processor or system cannot hide AVX-512");
        exit(1);
    }
}
