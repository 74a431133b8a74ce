/* Arithmetic of 64 bits that a 32-bit machine has no instructions for. LLVM calls
 * functions of the Arm run-time ABI (IHI 0043, 5.1) by their names, which a compiler's
 * library would have; here they are part of the object that needs them, under the same
 * names and known to nobody else.
 *
 * Division: a bit at a time, unless both numbers have 32 bits, which the machine
 * divides. Conversions go by doubles, which hold each half exactly; what has more than 53 bits
 * is cut to these first, with a bit that says whether something was cut off, so that it
 * is rounded once. */
#include "compiler/codegen/llvm_cpu/cpu.h"

#include <llvm-c/IRReader.h>
#include <llvm-c/Linker.h>

#include <string.h>

static const char division[] =
    "define hidden {i64, i64} @__aeabi_uldivmod(i64 %n, i64 %d) {\n"
    "entry:\n"
    "  %both = or i64 %n, %d\n"
    "  %high = lshr i64 %both, 32\n"
    "  %is_small = icmp eq i64 %high, 0\n"
    "  %is_none = icmp eq i64 %d, 0\n"
    "  br i1 %is_none, label %none, label %some\n"
    "none:\n"
    "  ret {i64, i64} zeroinitializer\n"
    "some:\n"
    "  br i1 %is_small, label %small, label %loop\n"
    "small:\n"
    "  %n4 = trunc i64 %n to i32\n"
    "  %d4 = trunc i64 %d to i32\n"
    "  %q4 = udiv i32 %n4, %d4\n"
    "  %p4 = mul i32 %q4, %d4\n"
    "  %r4 = sub i32 %n4, %p4\n"
    "  %q8 = zext i32 %q4 to i64\n"
    "  %r8 = zext i32 %r4 to i64\n"
    "  br label %done\n"
    "loop:\n"
    "  %i = phi i64 [63, %some], [%i1, %loop]\n"
    "  %q = phi i64 [0, %some], [%q1, %loop]\n"
    "  %r = phi i64 [0, %some], [%r1, %loop]\n"
    "  %down = lshr i64 %n, %i\n"
    "  %bit = and i64 %down, 1\n"
    "  %carry = icmp slt i64 %r, 0\n"
    "  %twice = shl i64 %r, 1\n"
    "  %next = or i64 %twice, %bit\n"
    "  %fits = icmp uge i64 %next, %d\n"
    "  %takes = or i1 %carry, %fits\n"
    "  %rest = sub i64 %next, %d\n"
    "  %r1 = select i1 %takes, i64 %rest, i64 %next\n"
    "  %one = shl i64 1, %i\n"
    "  %more = or i64 %q, %one\n"
    "  %q1 = select i1 %takes, i64 %more, i64 %q\n"
    "  %i1 = sub i64 %i, 1\n"
    "  %is_last = icmp eq i64 %i, 0\n"
    "  br i1 %is_last, label %done, label %loop\n"
    "done:\n"
    "  %quotient = phi i64 [%q8, %small], [%q1, %loop]\n"
    "  %remainder = phi i64 [%r8, %small], [%r1, %loop]\n"
    "  %a = insertvalue {i64, i64} undef, i64 %quotient, 0\n"
    "  %b = insertvalue {i64, i64} %a, i64 %remainder, 1\n"
    "  ret {i64, i64} %b\n"
    "}\n"
    "define hidden {i64, i64} @__aeabi_ldivmod(i64 %n, i64 %d) {\n"
    "  %ns = ashr i64 %n, 63\n"
    "  %ds = ashr i64 %d, 63\n"
    "  %nx = xor i64 %n, %ns\n"
    "  %na = sub i64 %nx, %ns\n"
    "  %dx = xor i64 %d, %ds\n"
    "  %da = sub i64 %dx, %ds\n"
    "  %u = call {i64, i64} @__aeabi_uldivmod(i64 %na, i64 %da)\n"
    "  %uq = extractvalue {i64, i64} %u, 0\n"
    "  %ur = extractvalue {i64, i64} %u, 1\n"
    "  %qs = xor i64 %ns, %ds\n"
    "  %qx = xor i64 %uq, %qs\n"
    "  %q = sub i64 %qx, %qs\n"
    "  %rx = xor i64 %ur, %ns\n"
    "  %r = sub i64 %rx, %ns\n"
    "  %a = insertvalue {i64, i64} undef, i64 %q, 0\n"
    "  %b = insertvalue {i64, i64} %a, i64 %r, 1\n"
    "  ret {i64, i64} %b\n"
    "}\n";
static const char conversion[] =
    "define hidden arm_aapcscc i64 @__aeabi_d2ulz(double %x) {\n"
    "  %scaled = fmul double %x, 0x3DF0000000000000\n" /* 2^-32 */
    "  %high = fptoui double %scaled to i32\n"
    "  %whole = uitofp i32 %high to double\n"
    "  %back = fmul double %whole, 0x41F0000000000000\n" /* 2^32 */
    "  %rest = fsub double %x, %back\n"
    "  %low = fptoui double %rest to i32\n"
    "  %h8 = zext i32 %high to i64\n"
    "  %l8 = zext i32 %low to i64\n"
    "  %up = shl i64 %h8, 32\n"
    "  %v = or i64 %up, %l8\n"
    "  ret i64 %v\n"
    "}\n"
    "define hidden arm_aapcscc i64 @__aeabi_f2ulz(float %x) {\n"
    "  %d = fpext float %x to double\n"
    "  %v = call arm_aapcscc i64 @__aeabi_d2ulz(double %d)\n"
    "  ret i64 %v\n"
    "}\n"
    "define hidden arm_aapcscc i64 @__aeabi_d2lz(double %x) {\n"
    "  %minus = fneg double %x\n"
    "  %is_below = fcmp olt double %x, 0.0\n"
    "  %size = select i1 %is_below, double %minus, double %x\n"
    "  %u = call arm_aapcscc i64 @__aeabi_d2ulz(double %size)\n"
    "  %negative = sub i64 0, %u\n"
    "  %v = select i1 %is_below, i64 %negative, i64 %u\n"
    "  ret i64 %v\n"
    "}\n"
    "define hidden arm_aapcscc i64 @__aeabi_f2lz(float %x) {\n"
    "  %d = fpext float %x to double\n"
    "  %v = call arm_aapcscc i64 @__aeabi_d2lz(double %d)\n"
    "  ret i64 %v\n"
    "}\n"
    "define hidden arm_aapcscc double @__aeabi_ul2d(i64 %v) {\n"
    "  %up = lshr i64 %v, 32\n"
    "  %h4 = trunc i64 %up to i32\n"
    "  %l4 = trunc i64 %v to i32\n"
    "  %high = uitofp i32 %h4 to double\n"
    "  %low = uitofp i32 %l4 to double\n"
    "  %scaled = fmul double %high, 0x41F0000000000000\n"
    "  %x = fadd double %scaled, %low\n"
    "  ret double %x\n"
    "}\n"
    "define hidden arm_aapcscc double @__aeabi_l2d(i64 %v) {\n"
    "  %up = lshr i64 %v, 32\n"
    "  %h4 = trunc i64 %up to i32\n"
    "  %l4 = trunc i64 %v to i32\n"
    "  %high = sitofp i32 %h4 to double\n"
    "  %low = uitofp i32 %l4 to double\n"
    "  %scaled = fmul double %high, 0x41F0000000000000\n"
    "  %x = fadd double %scaled, %low\n"
    "  ret double %x\n"
    "}\n"
    "define hidden arm_aapcscc float @__aeabi_ul2f(i64 %v) {\n"
    "  %top = lshr i64 %v, 53\n"
    "  %is_small = icmp eq i64 %top, 0\n"
    "  %off = and i64 %v, 2047\n"
    "  %is_cut = icmp ne i64 %off, 0\n"
    "  %mark = select i1 %is_cut, i64 2048, i64 0\n"
    "  %cut = and i64 %v, -2048\n"
    "  %marked = or i64 %cut, %mark\n"
    "  %is = select i1 %is_small, i64 %v, i64 %marked\n"
    "  %d = call arm_aapcscc double @__aeabi_ul2d(i64 %is)\n"
    "  %x = fptrunc double %d to float\n"
    "  ret float %x\n"
    "}\n"
    "define hidden arm_aapcscc float @__aeabi_l2f(i64 %v) {\n"
    "  %s = ashr i64 %v, 63\n"
    "  %vx = xor i64 %v, %s\n"
    "  %size = sub i64 %vx, %s\n"
    "  %u = call arm_aapcscc float @__aeabi_ul2f(i64 %size)\n"
    "  %minus = fneg float %u\n"
    "  %is_below = icmp slt i64 %v, 0\n"
    "  %x = select i1 %is_below, float %minus, float %u\n"
    "  ret float %x\n"
    "}\n";

static bool is_wide(const kiln_cg *g, LLVMTypeRef t) {
    return t == g->i64 || (LLVMGetTypeKind(t) == LLVMVectorTypeKind &&
                           LLVMGetElementType(t) == g->i64);
}

static bool is_saturated(LLVMValueRef call) {
    size_t n = 0;
    const LLVMValueRef fn = LLVMGetCalledValue(call);
    const char *name = fn != NULL ? LLVMGetValueName2(fn, &n) : "";
    return n > 8 && strncmp(name, "llvm.fpto", 9) == 0;
}

/* Has an operation on 64 bits that becomes a call. */
static bool is_call(const kiln_cg *g, LLVMValueRef i) {
    switch (LLVMGetInstructionOpcode(i)) {
    case LLVMUDiv:
    case LLVMSDiv:
    case LLVMURem:
    case LLVMSRem:
    case LLVMFPToSI:
    case LLVMFPToUI:
        return is_wide(g, LLVMTypeOf(i));
    case LLVMSIToFP:
    case LLVMUIToFP:
        return is_wide(g, LLVMTypeOf(LLVMGetOperand(i, 0)));
    case LLVMCall:
        return is_wide(g, LLVMTypeOf(i)) && is_saturated(i);
    default:
        return false;
    }
}

static bool needs_calls(const kiln_cg *g) {
    for (LLVMValueRef f = LLVMGetFirstFunction(g->module); f != NULL;
         f = LLVMGetNextFunction(f))
        for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f); b != NULL;
             b = LLVMGetNextBasicBlock(b))
            for (LLVMValueRef i = LLVMGetFirstInstruction(b); i != NULL;
                 i = LLVMGetNextInstruction(i))
                if (is_call(g, i))
                    return true;
    return false;
}

/* Not that of somebody else's library. */
static void make_own(kiln_cg *g) {
    for (LLVMValueRef f = LLVMGetFirstFunction(g->module); f != NULL;
         f = LLVMGetNextFunction(f)) {
        size_t n = 0;
        if (strncmp(LLVMGetValueName2(f, &n), "__aeabi_", 8) != 0)
            continue;
        LLVMSetVisibility(f, LLVMDefaultVisibility);
        LLVMSetLinkage(f, LLVMInternalLinkage);
        g->kind->attributes(g, f);
    }
}

void kiln_cg_wide(kiln_cg *g) {
    enum { WORD = 8 };
    LLVMModuleRef with = NULL;
    char *msg = NULL;
    if (g->word == WORD || !needs_calls(g))
        return;
    const char *const text = kiln_format(g->arena, "%s%s", division, conversion);
    const LLVMMemoryBufferRef bytes =
        LLVMCreateMemoryBufferWithMemoryRangeCopy(text, strlen(text), "wide");
    LLVMContextSetDiscardValueNames(g->cx, false); /* the text has some */
    const bool is_bad = LLVMParseIRInContext(g->cx, bytes, &with, &msg) != 0;
    LLVMContextSetDiscardValueNames(g->cx, true);
    if (is_bad) { /* the bytes were taken */
        kiln_cg_fail(g, KILN_ERR_LIB, "LLVM reads no arithmetic of 64 bits: %s", msg);
        LLVMDisposeMessage(msg);
        return;
    }
    LLVMSetTarget(with, g->profile->triple);
    LLVMSetDataLayout(with, LLVMGetDataLayoutStr(g->module));
    if (LLVMLinkModules2(g->module, with))
        kiln_cg_fail(g, KILN_ERR_LIB, "LLVM links no arithmetic of 64 bits");
    make_own(g);
}
