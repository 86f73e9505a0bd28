// SPDX-License-Identifier: MIT OR Apache-2.0

//! What an instruction is, by its bytes.
//!
//! The emulator knows where an instruction ends and prints its name only when asked. What a trace
//! needs is less: whether it can leave the straight line, where to, and whether it is of a kind that
//! is counted. The sources are the manuals of the architectures: Arm's `ARMv7-M` (DDI 0403), `ARMv8-M`
//! (DDI 0553) and A-profile (DDI 0487), the RISC-V unprivileged and privileged manuals, and Intel's
//! Software Developer's Manual, volumes 2 and 3.

/// An instruction set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Set {
    /// Thumb, as Arm's M-profile has it.
    Thumb,
    /// `AArch64`.
    AArch64,
    /// RISC-V with 32-bit registers.
    RiscV32,
    /// RISC-V with 64-bit registers.
    RiscV64,
    /// x86 in 32-bit mode.
    X86,
    /// x86 in 64-bit mode.
    X86_64,
}

/// How an instruction continues.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Class {
    /// With the next one.
    #[default]
    Plain,
    /// In a function that will return to the next one.
    Call,
    /// After the call that led here. On M-profile this is also how an exception ends: the target
    /// then is a value that only the processor understands, so that the bytes do not tell.
    Return,
    /// Elsewhere.
    Jump,
    /// Elsewhere or with the next one.
    Branch,
    /// In a handler: a system call, a hypervisor call, a breakpoint, an undefined instruction.
    Trap,
    /// Where a handler was entered.
    TrapReturn,
    /// With the next one, when something has happened.
    Wait,
}

/// What else an instruction is. A set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Kinds(u8);

impl Kinds {
    /// Nothing else.
    pub const NONE: Kinds = Kinds(0);
    /// It reads and writes memory as one, or is one of a pair that does: x86's `lock` and `xchg`
    /// with memory; exclusive loads and stores, `cas`, `swp` and `ld<op>` of Arm; `lr`, `sc` and
    /// `amo` of RISC-V.
    pub const ATOMIC: Kinds = Kinds(1);
    /// Unprivileged code cannot execute it, or to no effect.
    pub const PRIVILEGED: Kinds = Kinds(2);
    /// It waits for earlier instructions or orders memory: the barriers of Arm (`dsb`, `dmb`,
    /// `isb`, `sb`) and RISC-V (`fence`, `fence.i`, `sfence.vma`), x86's `mfence`, `lfence` and
    /// `sfence`, and what Intel calls serialising (volume 3, "Serializing instructions"): `cpuid`,
    /// `serialize`, `iret`, `rsm`, `wrmsr`, `mov` to a control or debug register other than CR8,
    /// `invd`, `wbinvd`, `invlpg`, `invept`, `invvpid`, `lgdt`, `lidt`, `lldt` and `ltr`. Loads that
    /// acquire and stores that release are not counted, neither are x86's locked instructions.
    pub const SERIALISING: Kinds = Kinds(4);
    /// An x86 string instruction with a prefix that repeats it. The emulator counts each repetition.
    pub const REPEATING: Kinds = Kinds(8);

    /// Whether it is all of these.
    #[must_use]
    pub fn has(self, kinds: Kinds) -> bool {
        self.0 & kinds.0 == kinds.0
    }

    /// These kinds if `condition` holds.
    fn when(self, condition: bool) -> Kinds {
        if condition {
            self
        } else {
            Kinds::NONE
        }
    }
}

impl std::ops::BitOr for Kinds {
    type Output = Kinds;

    fn bitor(self, other: Kinds) -> Kinds {
        Kinds(self.0 | other.0)
    }
}

/// An instruction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Instruction {
    /// Its address.
    pub address: u64,
    /// Its length in bytes.
    pub size: u8,
    /// How it continues.
    pub class: Class,
    /// Where a call, a jump or a branch leads to. `None` if a register or memory has it.
    pub target: Option<u64>,
    /// What else it is.
    pub kinds: Kinds,
}

impl Instruction {
    /// The instruction with these bytes. If its instruction set tells where it ends, more bytes may
    /// follow: at the end of a page, QEMU gives those of the next one too.
    #[must_use]
    pub fn new(set: Set, address: u64, bytes: &[u8]) -> Self {
        let size = match set {
            Set::Thumb if word(bytes) & 0xffff < 0xe800 => 2,
            Set::RiscV32 | Set::RiscV64 if word(bytes) & 3 != 3 => 2,
            Set::Thumb | Set::AArch64 | Set::RiscV32 | Set::RiscV64 => 4,
            Set::X86 | Set::X86_64 => bytes.len().min(16),
        };
        let meaning = match set {
            Set::Thumb => thumb(word(bytes)),
            Set::AArch64 => aarch64(word(bytes)),
            Set::RiscV32 | Set::RiscV64 => riscv(set == Set::RiscV32, word(bytes)),
            Set::X86 | Set::X86_64 => x86(set == Set::X86_64, bytes),
        };
        let mask = match set {
            Set::Thumb | Set::RiscV32 | Set::X86 => u64::from(u32::MAX),
            Set::AArch64 | Set::RiscV64 | Set::X86_64 => u64::MAX,
        };
        let target = |offset: i64| address.wrapping_add_signed(offset) & mask;
        Instruction {
            address,
            size: size as u8,
            class: meaning.class,
            target: meaning.offset.map(target),
            kinds: meaning.kinds,
        }
    }

    /// The address after it.
    #[must_use]
    pub fn end(&self) -> u64 {
        self.address.wrapping_add(u64::from(self.size))
    }
}

/// An instruction apart from its place.
#[derive(Clone, Copy, Debug, Default)]
struct Meaning {
    class: Class,
    kinds: Kinds,
    /// From the address of the instruction to its target.
    offset: Option<i64>,
}

impl Meaning {
    fn to(class: Class, offset: i64) -> Self {
        Meaning {
            offset: Some(offset),
            ..class.into()
        }
    }
}

impl From<Class> for Meaning {
    fn from(class: Class) -> Self {
        Meaning {
            class,
            ..Meaning::default()
        }
    }
}

impl From<Kinds> for Meaning {
    fn from(kinds: Kinds) -> Self {
        (Class::Plain, kinds).into()
    }
}

impl From<(Class, Kinds)> for Meaning {
    fn from((class, kinds): (Class, Kinds)) -> Self {
        Meaning {
            class,
            kinds,
            offset: None,
        }
    }
}

/// The first four bytes, the least significant first. Missing ones are 0.
fn word(bytes: &[u8]) -> u32 {
    let mut word = [0; 4];
    let known = bytes.len().min(4);
    word[..known].copy_from_slice(&bytes[..known]);
    u32::from_le_bytes(word)
}

/// `count` bits of a word, from bit `low`.
fn bits(word: u32, low: u32, count: u32) -> u32 {
    word >> low & ((1 << count) - 1)
}

/// The number that the low `count` bits are in two's complement.
fn signed(value: u32, count: u32) -> i64 {
    let sign = i64::from(bits(value, count - 1, 1));
    i64::from(bits(value, 0, count - 1)) - (sign << (count - 1))
}

/// Bits of a word put together: each a lowest bit, a count, and where they go.
fn gather(word: u32, parts: &[(u32, u32, u32)]) -> u32 {
    parts.iter().fold(0, |all, &(low, count, to)| {
        all | bits(word, low, count) << to
    })
}

fn thumb(word: u32) -> Meaning {
    let first = word & 0xffff;
    if first >= 0xe800 {
        return thumb_wide(first, word >> 16);
    }
    match first {
        // b<c>, udf, svc
        0xd000..=0xddff => Meaning::to(Class::Branch, signed(first << 1 & 0x1ff, 9) + 4),
        0xde00..=0xdfff => Class::Trap.into(),
        // b
        0xe000..=0xe7ff => Meaning::to(Class::Jump, signed(first << 1 & 0xfff, 12) + 4),
        // cbz, cbnz
        _ if first & 0xf500 == 0xb100 => {
            let offset = gather(first, &[(3, 5, 1), (9, 1, 6)]);
            Meaning::to(Class::Branch, i64::from(offset) + 4)
        }
        // bx; mov pc; add pc
        _ if first & 0xff80 == 0x4700 || first & 0xff87 == 0x4687 => {
            let is_link = bits(first, 3, 4) == 14;
            Meaning::from(if is_link { Class::Return } else { Class::Jump })
        }
        _ if first & 0xff87 == 0x4487 => Class::Jump.into(),
        // blx
        _ if first & 0xff80 == 0x4780 => Class::Call.into(),
        // pop {..., pc}
        0xbd00..=0xbdff => Class::Return.into(),
        // bkpt
        0xbe00..=0xbeff => Class::Trap.into(),
        // cps
        0xb660..=0xb67f => Kinds::PRIVILEGED.into(),
        // wfe, wfi
        0xbf20 | 0xbf30 => Class::Wait.into(),
        _ => Meaning::default(),
    }
}

fn thumb_wide(first: u32, second: u32) -> Meaning {
    if first & 0xf800 == 0xf000 && second & 0x8000 != 0 {
        return thumb_control(first, second);
    }
    let loads_pc = second & 0xf000 == 0xf000;
    match first {
        // ldm, pop
        _ if matches!(first & 0xffd0, 0xe890 | 0xe910) && second & 0x8000 != 0 => {
            Class::Return.into()
        }
        // ldr pc: from the stack it is a pop
        _ if first & 0xff70 == 0xf850 && loads_pc => {
            let is_pop = first & 0xf == 13;
            Meaning::from(if is_pop { Class::Return } else { Class::Jump })
        }
        // tbb, tbh
        _ if first & 0xfff0 == 0xe8d0 && second & 0xffe0 == 0xf000 => Class::Jump.into(),
        // strex, ldrex; with 15 for the register it is tt
        _ if first & 0xffe0 == 0xe840 => Kinds::ATOMIC.when(!loads_pc || first & 0x10 != 0).into(),
        // the same of bytes, halfwords and doublewords, and those that acquire or release
        _ if first & 0xffe0 == 0xe8c0 => {
            let is_exclusive = matches!(bits(second, 4, 4), 4 | 5 | 7 | 12..);
            Kinds::ATOMIC.when(is_exclusive).into()
        }
        _ => Meaning::default(),
    }
}

/// Branches and system instructions.
fn thumb_control(first: u32, second: u32) -> Meaning {
    let sign = bits(first, 10, 1);
    // Offsets of 25 bits: the bits below the sign are inverted unless they equal it.
    let far = || {
        let j = |at| (bits(second, at, 1) ^ sign ^ 1) & 1;
        let high = sign << 24 | j(13) << 23 | j(11) << 22;
        signed(
            high | gather(first, &[(0, 10, 12)]) | gather(second, &[(0, 11, 1)]),
            25,
        ) + 4
    };
    let near = || {
        let high = sign << 20 | gather(second, &[(11, 1, 19), (13, 1, 18), (0, 11, 1)]);
        signed(high | gather(first, &[(0, 6, 12)]), 21) + 4
    };
    let register = second & 0xff;
    match second & 0xd000 {
        0xd000 => Meaning::to(Class::Call, far()),
        0x9000 => Meaning::to(Class::Jump, far()),
        // le and its like, which end the loops of ARMv8.1-M
        0xc000 if second & 1 == 1 => Class::Branch.into(),
        0x8000 if bits(first, 6, 4) < 14 => Meaning::to(Class::Branch, near()),
        // msr: the flags (0 to 3) are free, all else is privileged. mrs: control (20) is free too
        0x8000 if first & 0xfff0 == 0xf380 => Kinds::PRIVILEGED.when(register > 3).into(),
        0x8000 if first == 0xf3ef => Kinds::PRIVILEGED
            .when(register > 3 && register != 20)
            .into(),
        0x8000 if first == 0xf3af && matches!(register, 2 | 3) => Class::Wait.into(),
        // dsb, dmb, isb
        0x8000 if first == 0xf3bf => Kinds::SERIALISING
            .when(matches!(register >> 4, 4..=6))
            .into(),
        // udf
        0x8000 if first & 0xfff0 == 0xf7f0 && second & 0xf000 == 0xa000 => Class::Trap.into(),
        _ => Meaning::default(),
    }
}

fn aarch64(word: u32) -> Meaning {
    let offset = |low, count| signed(bits(word, low, count) << 2, count + 2);
    // ldxr, stxr, cas; acquiring and releasing alone is not atomic
    let is_exclusive = word & 0x3f00_0000 == 0x0800_0000 && word & 0x00a0_0000 != 0x0080_0000;
    // ld<op>, swp; above them are ldapr and the 64-byte loads and stores
    let is_operation = word & 0x3f20_0c00 == 0x3820_0000 && matches!(bits(word, 12, 4), 0..=8);
    match word >> 24 {
        0x14..=0x17 => Meaning::to(Class::Jump, offset(0, 26)),
        0x94..=0x97 => Meaning::to(Class::Call, offset(0, 26)),
        // b.c; cbz, cbnz; tbz, tbnz
        0x54 | 0x34 | 0x35 | 0xb4 | 0xb5 => Meaning::to(Class::Branch, offset(5, 19)),
        0x36 | 0x37 | 0xb6 | 0xb7 => Meaning::to(Class::Branch, offset(5, 14)),
        // br, blr, ret, eret, also with authentication
        0xd6 | 0xd7 => match bits(word, 21, 4) {
            0 | 8 => Class::Jump.into(),
            1 | 9 => Class::Call.into(),
            2 => Class::Return.into(),
            _ => (Class::TrapReturn, Kinds::PRIVILEGED).into(),
        },
        // svc, hvc, smc, brk, hlt
        0xd4 => {
            let is_call_above = bits(word, 21, 3) == 0 && bits(word, 0, 2) > 1;
            (Class::Trap, Kinds::PRIVILEGED.when(is_call_above)).into()
        }
        0xd5 => aarch64_system(word),
        _ => Kinds::ATOMIC.when(is_exclusive || is_operation).into(),
    }
}

/// Hints, barriers, and what reaches system registers.
fn aarch64_system(word: u32) -> Meaning {
    let (op0, op1, op2) = (bits(word, 19, 2), bits(word, 16, 3), bits(word, 5, 3));
    let (crn, crm) = (bits(word, 12, 4), bits(word, 8, 4));
    match (op0, op1, crn) {
        // wfet, wfit; wfe, wfi among the hints
        (0, 3, 1) => Class::Wait.into(),
        (0, 3, 2) if crm == 0 && matches!(op2, 2 | 3) => Class::Wait.into(),
        // clrex alone is no barrier
        (0, 3, 3) => Kinds::SERIALISING.when(op2 != 2).into(),
        // msr (immediate): the interrupt masks; SPSel, PAN and UAO; the flags are free
        (0, 3, 4) => Kinds::PRIVILEGED.when(op2 >= 6).into(),
        (0, 0, 4) => Kinds::PRIVILEGED.when(op2 >= 3).into(),
        (0, _, _) => Meaning::default(),
        // daif is among the registers of user code, but only the kernel may use it
        (3, 3, 4) => Kinds::PRIVILEGED.when(crm == 2 && op2 == 1).into(),
        _ => Kinds::PRIVILEGED.when(op1 != 3).into(),
    }
}

fn riscv(is_32: bool, word: u32) -> Meaning {
    // The registers that hold return addresses: ra and t0.
    let links = |register| matches!(register, 1 | 5);
    if word & 3 != 3 {
        return riscv_short(is_32, word & 0xffff);
    }
    let (rd, function, rs1) = (bits(word, 7, 5), bits(word, 12, 3), bits(word, 15, 5));
    let number = word >> 20;
    match word & 0x7f {
        0x6f => {
            let parts = [(21, 10, 1), (20, 1, 11), (12, 8, 12), (31, 1, 20)];
            let class = if links(rd) { Class::Call } else { Class::Jump };
            Meaning::to(class, signed(gather(word, &parts), 21))
        }
        0x67 if links(rd) => Class::Call.into(),
        0x67 if links(rs1) => Class::Return.into(),
        0x67 => Class::Jump.into(),
        0x63 => {
            let parts = [(8, 4, 1), (25, 6, 5), (7, 1, 11), (31, 1, 12)];
            Meaning::to(Class::Branch, signed(gather(word, &parts), 13))
        }
        // fence, unless it is the hint `pause`; fence.i
        0x0f => Kinds::SERIALISING
            .when(function < 2 && word != 0x0100_000f)
            .into(),
        0x2f => Kinds::ATOMIC.into(),
        0x73 if function == 0 => match (number, number >> 5) {
            (0 | 1, _) => Class::Trap.into(),
            (0x002, _) => Class::TrapReturn.into(),
            (0x102 | 0x302 | 0x702 | 0x7b2, _) => (Class::TrapReturn, Kinds::PRIVILEGED).into(),
            (0x105, _) => (Class::Wait, Kinds::PRIVILEGED).into(),
            // sfence.vma
            (_, 0x09) => (Kinds::PRIVILEGED | Kinds::SERIALISING).into(),
            _ => Kinds::PRIVILEGED.into(),
        },
        // The number of a register says who may use it.
        0x73 => Kinds::PRIVILEGED
            .when(function == 4 || bits(number, 8, 2) > 0)
            .into(),
        _ => Meaning::default(),
    }
}

/// Instructions of two bytes.
fn riscv_short(is_32: bool, half: u32) -> Meaning {
    let jump = || {
        let low = [(3, 3, 1), (11, 1, 4), (2, 1, 5), (7, 1, 6), (6, 1, 7)];
        let high = [(9, 2, 8), (8, 1, 10), (12, 1, 11)];
        signed(gather(half, &low) | gather(half, &high), 12)
    };
    let branch = || {
        let parts = [(3, 2, 1), (10, 2, 3), (2, 1, 5), (5, 2, 6), (12, 1, 8)];
        signed(gather(half, &parts), 9)
    };
    let (first, second) = (bits(half, 7, 5), bits(half, 2, 5));
    match (half & 3, half >> 13) {
        (1, 5) => Meaning::to(Class::Jump, jump()),
        (1, 1) if is_32 => Meaning::to(Class::Call, jump()),
        (1, 6 | 7) => Meaning::to(Class::Branch, branch()),
        (2, 4) if second == 0 => match (bits(half, 12, 1), first) {
            (0, 1 | 5) => Class::Return.into(),
            (0, _) => Class::Jump.into(),
            (_, 0) => Class::Trap.into(),
            _ => Class::Call.into(),
        },
        _ => Meaning::default(),
    }
}

/// The prefixes of an x86 instruction that matter here.
#[derive(Clone, Copy, Debug, Default)]
struct Prefixes {
    repeat: bool,
    operand: bool,
    /// The register field has a fourth bit.
    high: bool,
}

/// The byte after the opcode, which names operands.
#[derive(Clone, Copy, Debug)]
struct ModRm(u8);

impl ModRm {
    fn is_memory(self) -> bool {
        self.0 < 0xc0
    }

    fn register(self) -> u8 {
        self.0 >> 3 & 7
    }
}

fn x86(is_64: bool, bytes: &[u8]) -> Meaning {
    let mut prefixes = Prefixes::default();
    let mut is_locked = false;
    let mut rest = bytes;
    while let [byte, after @ ..] = rest {
        match byte {
            0xf0 => is_locked = true,
            0xf2 | 0xf3 => prefixes.repeat = true,
            0x66 => prefixes.operand = true,
            0x26 | 0x2e | 0x36 | 0x3e | 0x64 | 0x65 | 0x67 => {}
            0x40..=0x4f if is_64 => prefixes.high = byte & 4 != 0,
            _ => break,
        }
        rest = after;
    }
    let at = |place: usize| rest.get(place).copied().unwrap_or_default();
    // Vector instructions. In 32-bit mode other operands make them lds, les and bound.
    if matches!(at(0), 0x62 | 0xc4 | 0xc5) && (is_64 || at(1) >= 0xc0) {
        return Meaning::default();
    }
    let mut meaning = match (at(0), at(1)) {
        (0x0f, 0x38) => x86_0f38(prefixes, at(2)),
        (0x0f, opcode) => x86_0f(prefixes, opcode, ModRm(at(2))),
        (opcode, operands) => x86_one(prefixes, opcode, ModRm(operands)),
    };
    if is_locked {
        meaning.kinds = meaning.kinds | Kinds::ATOMIC;
    }
    // A target is relative to the end. Its offset is the last field.
    if matches!(meaning.class, Class::Call | Class::Jump | Class::Branch) {
        let short = matches!(at(0), 0x70..=0x7f | 0xe0..=0xe3 | 0xeb);
        let long = matches!(at(0), 0xe8 | 0xe9) || at(0) == 0x0f;
        let near = |low: u8, high: u8| i64::from(i16::from_le_bytes([low, high]));
        let offset = match *bytes {
            [.., offset] if short => Some(i64::from(i8::from_le_bytes([offset]))),
            [.., low, high] if long && prefixes.operand && !is_64 => Some(near(low, high)),
            [.., a, b, c, d] if long => Some(i64::from(i32::from_le_bytes([a, b, c, d]))),
            _ => None,
        };
        let size = i64::try_from(bytes.len()).unwrap_or_default();
        meaning.offset = offset.map(|offset| offset + size);
    }
    meaning
}

fn x86_one(prefixes: Prefixes, opcode: u8, operands: ModRm) -> Meaning {
    let repeating = Kinds::REPEATING.when(prefixes.repeat);
    match opcode {
        0x70..=0x7f | 0xe0..=0xe3 => Class::Branch.into(),
        0xe8 | 0x9a => Class::Call.into(),
        0xe9..=0xeb => Class::Jump.into(),
        0xc2 | 0xc3 | 0xca | 0xcb => Class::Return.into(),
        // int3, int, into, int1
        0xcc..=0xce | 0xf1 => Class::Trap.into(),
        // iret: in kernels it is privileged by what it restores, but everybody may execute it
        0xcf => (Class::TrapReturn, Kinds::SERIALISING).into(),
        0xf4 => (Class::Wait, Kinds::PRIVILEGED).into(),
        // cli, sti; in, out
        0xfa | 0xfb | 0xe4..=0xe7 | 0xec..=0xef => Kinds::PRIVILEGED.into(),
        // ins, outs; movs, cmps, stos, lods, scas
        0x6c..=0x6f => (Kinds::PRIVILEGED | repeating).into(),
        0xa4..=0xa7 | 0xaa..=0xaf => repeating.into(),
        // xchg
        0x86 | 0x87 => Kinds::ATOMIC.when(operands.is_memory()).into(),
        0xff => match operands.register() {
            2 | 3 => Class::Call.into(),
            4 | 5 => Class::Jump.into(),
            _ => Meaning::default(),
        },
        _ => Meaning::default(),
    }
}

fn x86_0f(prefixes: Prefixes, opcode: u8, operands: ModRm) -> Meaning {
    let both = Kinds::PRIVILEGED | Kinds::SERIALISING;
    let field = operands.register();
    match opcode {
        0x80..=0x8f => Class::Branch.into(),
        // syscall, sysenter; ud2, ud1, ud0
        0x05 | 0x34 | 0x0b | 0xb9 | 0xff => Class::Trap.into(),
        // sysret, sysexit
        0x07 | 0x35 => (Class::TrapReturn, Kinds::PRIVILEGED).into(),
        // rsm
        0xaa => (Class::TrapReturn, both).into(),
        // lldt, ltr
        0x00 => both.when(matches!(field, 2 | 3)).into(),
        0x01 => x86_0f01(operands),
        // clts, rdmsr, wbnoinvd; mov from control and debug registers, and to CR8
        0x06 | 0x20 | 0x21 | 0x32 => Kinds::PRIVILEGED.into(),
        0x09 if prefixes.repeat => Kinds::PRIVILEGED.into(),
        0x22 if prefixes.high => Kinds::PRIVILEGED.into(),
        // invd, wbinvd; mov to control and debug registers; wrmsr
        0x08 | 0x09 | 0x22 | 0x23 | 0x30 => both.into(),
        0xa2 => Kinds::SERIALISING.into(),
        // lfence, mfence, sfence
        0xae => {
            let is_fence = !operands.is_memory() && field > 4;
            let is_other = prefixes.repeat || prefixes.operand;
            Kinds::SERIALISING.when(is_fence && !is_other).into()
        }
        // xrstors, xsaves
        0xc7 => Kinds::PRIVILEGED
            .when(operands.is_memory() && matches!(field, 3 | 5))
            .into(),
        _ => Meaning::default(),
    }
}

fn x86_0f01(operands: ModRm) -> Meaning {
    let both = Kinds::PRIVILEGED | Kinds::SERIALISING;
    match (operands.is_memory(), operands.register(), operands.0) {
        // lgdt, lidt, invlpg
        (true, 2 | 3 | 7, _) => both.into(),
        // vmcall, vmmcall, vmgexit
        (false, _, 0xc1 | 0xd9) => (Class::Trap, Kinds::PRIVILEGED).into(),
        // mwait
        (false, _, 0xc9) => (Class::Wait, Kinds::PRIVILEGED).into(),
        // serialize
        (false, _, 0xe8) => Kinds::SERIALISING.into(),
        // lmsw; monitor, clac, stac, xsetbv, swapgs
        (_, 6, _) | (false, _, 0xc8 | 0xca | 0xcb | 0xd1 | 0xf8) => Kinds::PRIVILEGED.into(),
        _ => Meaning::default(),
    }
}

fn x86_0f38(prefixes: Prefixes, opcode: u8) -> Meaning {
    match opcode {
        // invept, invvpid; invpcid
        0x80 | 0x81 if prefixes.operand => (Kinds::PRIVILEGED | Kinds::SERIALISING).into(),
        0x82 if prefixes.operand => Kinds::PRIVILEGED.into(),
        _ => Meaning::default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decode(set: Set, bytes: &str) -> Instruction {
        let byte = |at| u8::from_str_radix(&bytes[at..at + 2], 16).unwrap();
        let bytes: Vec<u8> = (0..bytes.len()).step_by(2).map(byte).collect();
        Instruction::new(set, 0x1000, &bytes)
    }

    #[test]
    fn targets() {
        for (set, bytes, class, target) in [
            (Set::Thumb, "f2d1", Class::Branch, 0xfe8),         // bne
            (Set::Thumb, "0ae0", Class::Jump, 0x1018),          // b
            (Set::Thumb, "f1b1", Class::Branch, 0x1040),        // cbz
            (Set::Thumb, "fdf7fffa", Class::Call, 0xffff_e602), // bl
            (Set::Thumb, "00f00780", Class::Branch, 0x1012),    // beq.w
            (Set::Thumb, "fff7fabf", Class::Jump, 0xff8),       // b.w
            (Set::AArch64, "ffffff97", Class::Call, 0xffc),     // bl
            (Set::AArch64, "41000054", Class::Branch, 0x1008),  // b.ne
            (Set::AArch64, "60fdff36", Class::Branch, 0xfac),   // tbz
            (Set::RiscV32, "fd3f", Class::Call, 0xffe),         // c.jal
            (Set::RiscV64, "fdbf", Class::Jump, 0xffe),         // c.j
            (Set::RiscV64, "11c1", Class::Branch, 0x1004),      // c.beqz
            (Set::RiscV64, "eff0dfff", Class::Call, 0xffc),     // jal
            (Set::RiscV64, "e31ef5fe", Class::Branch, 0xffc),   // bne
            (Set::X86_64, "e8fbffffff", Class::Call, 0x1000),
            (Set::X86_64, "0f84fa000000", Class::Branch, 0x1100),
            (Set::X86_64, "ebfe", Class::Jump, 0x1000),
            (Set::X86, "66e90001", Class::Jump, 0x1104),
        ] {
            let found = decode(set, bytes);
            assert_eq!(
                (found.class, found.target),
                (class, Some(target)),
                "{set:?} {bytes}"
            );
        }
    }

    #[test]
    fn sizes() {
        // QEMU 7.2 gives the first half of the next instruction with the last one of a page.
        assert_eq!(decode(Set::Thumb, "23682a68").size, 2);
        assert_eq!(decode(Set::Thumb, "fdf7fffa").size, 4);
        assert_eq!(decode(Set::RiscV64, "fdbffdbf").size, 2);
        assert_eq!(decode(Set::X86_64, "0f84fa000000").end(), 0x1006);
    }

    /// What an instruction is by the name and the operands that `objdump` gives it.
    #[derive(Debug, PartialEq, Eq)]
    struct Expected {
        class: Class,
        kinds: Kinds,
        target: Option<u64>,
    }

    /// One of the words of a list, each between spaces.
    fn is_one_of(word: &str, words: &str) -> bool {
        words.split(' ').any(|one| one == word)
    }

    fn starts_with_one_of(word: &str, words: &str) -> bool {
        words.split(' ').any(|one| word.starts_with(one))
    }

    /// Class and kinds. The target of a direct call, jump or branch is the last operand.
    fn expected(set: Set, text: &str) -> Expected {
        let comment = match set {
            Set::Thumb => "@",
            Set::AArch64 => "//",
            _ => "#",
        };
        let text = text.split(comment).next().unwrap_or_default().trim();
        let (name, operands) = text.split_once(' ').unwrap_or((text, ""));
        let (class, kinds) = match set {
            Set::Thumb => expected_thumb(name, operands),
            Set::AArch64 => expected_aarch64(name, operands),
            Set::RiscV32 | Set::RiscV64 => expected_riscv(name, operands),
            Set::X86 | Set::X86_64 => expected_x86(text),
        };
        let operand = text.split(" <").next().unwrap_or_default();
        let operand = operand.rsplit([' ', ',']).next().unwrap_or_default();
        let target = u64::from_str_radix(operand.trim_start_matches("0x"), 16).ok();
        let has_target = matches!(class, Class::Call | Class::Jump | Class::Branch)
            && (text.contains('<') || operand.starts_with("0x"))
            && !text.contains(" *");
        Expected {
            class,
            kinds,
            target: target.filter(|_| has_target),
        }
    }

    fn expected_thumb(name: &str, operands: &str) -> (Class, Kinds) {
        const CONDITIONS: &str = "eq ne cs cc mi pl vs vc hi ls ge lt gt le";
        let name = name.trim_end_matches(".n").trim_end_matches(".w");
        let (base, condition) = name.split_at(name.len().saturating_sub(2));
        let is_conditional = is_one_of(condition, CONDITIONS) && !is_one_of(name, "bls svc mls");
        let is_branch = base == "b" && is_conditional || name == "bls";
        let base = if is_conditional { base } else { name };
        let class = match base {
            _ if is_branch || is_one_of(name, "cbz cbnz") => Class::Branch,
            "bl" | "blx" | "blxns" => Class::Call,
            "bx" | "bxns" if operands == "lr" => Class::Return,
            "b" | "bx" | "bxns" | "tbb" | "tbh" => Class::Jump,
            "svc" | "bkpt" | "udf" => Class::Trap,
            "wfi" | "wfe" => Class::Wait,
            "pop" | "ldmia" | "ldmdb" if operands.contains("pc}") => Class::Return,
            "mov" if operands == "pc, lr" => Class::Return,
            "ldr" if operands.starts_with("pc, [sp]") => Class::Return,
            "mov" | "add" | "ldr" if operands.starts_with("pc,") => Class::Jump,
            _ => Class::Plain,
        };
        let register = match base {
            "mrs" => operands.rsplit(", ").next(),
            "msr" => operands.split(", ").next(),
            _ => None,
        };
        let is_free = |register: &str| {
            let free = "CPSR_f APSR_nzcvq APSR_nzcv CPSR APSR PSR";
            is_one_of(register, free) || (base == "mrs" && register == "CONTROL")
        };
        let is_privileged = name.starts_with("cps") || register.is_some_and(|one| !is_free(one));
        let kinds = Kinds::PRIVILEGED.when(is_privileged)
            | Kinds::SERIALISING.when(is_one_of(base, "dsb isb dmb"))
            | Kinds::ATOMIC.when(starts_with_one_of(base, "ldrex strex ldaex stlex"));
        (class, kinds)
    }

    fn expected_aarch64(name: &str, operands: &str) -> (Class, Kinds) {
        const ATOMIC: &str =
            "ldx stx ldax stlx cas swp ldadd ldclr ldeor ldset ldsmax ldsmin ldumax \
                              ldumin stadd stclr steor stset stsmax stsmin stumax stumin";
        let class = match name {
            "b" | "br" | "braa" | "brab" | "braaz" | "brabz" => Class::Jump,
            "bl" | "blr" | "blraa" | "blrab" | "blraaz" | "blrabz" => Class::Call,
            "ret" | "retaa" | "retab" => Class::Return,
            "cbz" | "cbnz" | "tbz" | "tbnz" => Class::Branch,
            _ if name.starts_with("b.") => Class::Branch,
            "svc" | "hvc" | "smc" | "brk" | "hlt" => Class::Trap,
            "eret" | "eretaa" | "eretab" => Class::TrapReturn,
            "wfe" | "wfi" | "wfet" | "wfit" => Class::Wait,
            _ => Class::Plain,
        };
        let operand = match name {
            "mrs" => operands.rsplit(", ").next(),
            _ => operands.split(", ").next(),
        };
        let operand = operand.unwrap_or_default();
        let is_privileged = match name {
            "mrs" | "msr" if is_one_of(operand, "nzcv fpcr fpsr rndr rndrrs dit tco ssbs") => false,
            "mrs" | "msr" => !operand.ends_with("_el0") || operand == "sp_el0",
            "dc" => !is_one_of(operand, "cvac civac cvau zva gva gzva"),
            "ic" => operand != "ivau",
            "at" | "tlbi" | "hvc" | "smc" => true,
            _ => class == Class::TrapReturn,
        };
        let kinds = Kinds::PRIVILEGED.when(is_privileged)
            | Kinds::SERIALISING.when(is_one_of(name, "dsb dmb isb sb ssbb pssbb dfb"))
            | Kinds::ATOMIC.when(starts_with_one_of(name, ATOMIC));
        (class, kinds)
    }

    fn expected_riscv(name: &str, operands: &str) -> (Class, Kinds) {
        const BRANCHES: &str = "beq bne blt bge bltu bgeu beqz bnez blez bgez bltz bgtz bgt ble";
        const FREE: &str = "cycle time instret cycleh timeh instreth fcsr frm fflags";
        let name = name.trim_start_matches("c.");
        let links = |register: &str| matches!(register, "ra" | "t0");
        let first = operands.split(',').next().unwrap_or_default();
        let base = operands.rsplit([',', '(']).next().unwrap_or_default();
        let base = base.trim_end_matches(')');
        let class = match name {
            "jal" | "jalr" if !operands.contains(',') || links(first) => Class::Call,
            "jr" | "jalr" if links(base) => Class::Return,
            "j" | "jal" | "jr" | "jalr" => Class::Jump,
            "ret" => Class::Return,
            "ecall" | "ebreak" => Class::Trap,
            "mret" | "sret" => Class::TrapReturn,
            "wfi" => Class::Wait,
            _ if is_one_of(name, BRANCHES) => Class::Branch,
            _ => Class::Plain,
        };
        let register = match name {
            "csrr" | "csrrs" | "csrrc" | "csrrw" | "csrrsi" | "csrrci" | "csrrwi" => {
                operands.split(',').nth(1)
            }
            _ if name.starts_with("csr") => Some(first),
            _ => None,
        };
        let is_privileged = is_one_of(name, "mret sret wfi sfence.vma")
            || register.is_some_and(|register| !is_one_of(register, FREE));
        let kinds = Kinds::PRIVILEGED.when(is_privileged)
            | Kinds::SERIALISING.when(is_one_of(name, "fence fence.i fence.tso sfence.vma"))
            | Kinds::ATOMIC.when(starts_with_one_of(name, "lr. sc. amo"));
        (class, kinds)
    }

    fn expected_x86(text: &str) -> (Class, Kinds) {
        const PREFIXES: &str =
            "lock rep repz repnz bnd notrack data16 addr32 cs ds es fs gs ss xacquire xrelease";
        const PRIVILEGED: &str =
            "sysret sysretl sysretq sysexit sysexitl sysexitq hlt mwait cli sti \
            in out insb insl insw outsb outsl outsw wrmsr rdmsr invlpg wbinvd wbnoinvd invd lgdt \
            lgdtl lidt lidtl lldt ltr swapgs clac stac monitor xsetbv clts lmsw vmcall vmmcall vmgexit \
            invpcid invept invvpid xsaves xsaves64 xrstors xrstors64 rsm";
        const SERIALISING: &str =
            "cpuid serialize mfence lfence sfence iret iretl iretq iretw rsm \
            wrmsr invd wbinvd invlpg invept invvpid lgdt lgdtl lidt lidtl lldt ltr";
        const STRING: &str = "ins outs movs cmps stos lods scas";
        let is_prefix = |word: &&str| is_one_of(word, PREFIXES) || word.starts_with("rex");
        let prefixes: Vec<&str> = text.split(' ').take_while(is_prefix).collect();
        let mut words = text.split(' ').skip_while(is_prefix);
        let name = words
            .next()
            .unwrap_or_default()
            .split(',')
            .next()
            .unwrap_or_default();
        let operands: String = words.collect();
        let class = match name {
            "call" | "callq" | "callw" | "lcall" | "lcallq" => Class::Call,
            "jmp" | "jmpq" | "jmpw" | "ljmp" | "ljmpq" | "ljmpw" => Class::Jump,
            "ret" | "retq" | "retw" | "lret" | "lretq" | "lretw" | "lretl" => Class::Return,
            "syscall" | "sysenter" | "int" | "int3" | "int1" | "icebp" | "into" | "ud2" | "ud1"
            | "ud0" | "vmcall" | "vmmcall" | "vmgexit" => Class::Trap,
            "hlt" | "mwait" => Class::Wait,
            _ if starts_with_one_of(name, "iret sysret sysexit") || name == "rsm" => {
                Class::TrapReturn
            }
            _ if starts_with_one_of(name, "j loop") => Class::Branch,
            _ => Class::Plain,
        };
        let to = operands.rsplit(',').next().unwrap_or_default();
        let is_control = name == "mov" && starts_with_one_of(to, "%cr %db");
        let is_read = name == "mov" && starts_with_one_of(&operands, "%cr %db");
        let is_repeated = prefixes.iter().any(|prefix| prefix.starts_with("rep"));
        let is_string = starts_with_one_of(name, STRING);
        let is_exchange =
            name.starts_with("xchg") && (operands.contains('(') || operands.contains("0x"));
        let kinds = Kinds::PRIVILEGED.when(is_one_of(name, PRIVILEGED) || is_control || is_read)
            | Kinds::SERIALISING.when(is_one_of(name, SERIALISING) || is_control && to != "%cr8")
            | Kinds::ATOMIC.when(prefixes.contains(&"lock") || is_exchange)
            | Kinds::REPEATING.when(is_repeated && is_string);
        (class, kinds)
    }

    /// Instructions of kernels and C libraries, one of each name, and those that they lack. The
    /// columns are address, bytes, and the text of `objdump`.
    fn compare_with_objdump(set: Set, listing: &str) {
        let mut wrong = Vec::new();
        let mut count = 0;
        for line in listing.lines() {
            let mut columns = line.split('\t');
            let mut column = || columns.next().unwrap();
            let address = u64::from_str_radix(column(), 16).unwrap();
            let (bytes, text) = (column(), column());
            let byte = |at| u8::from_str_radix(&bytes[at..at + 2], 16).unwrap();
            let code: Vec<u8> = (0..bytes.len()).step_by(2).map(byte).collect();
            let found = Instruction::new(set, address, &code);
            assert_eq!(usize::from(found.size), code.len(), "{line}");
            let found = Expected {
                class: found.class,
                kinds: found.kinds,
                target: found.target,
            };
            let expected = expected(set, text);
            if found != expected {
                wrong.push(format!("{line}\n  {found:?}\n  {expected:?}\n"));
            }
            count += 1;
        }
        assert!(count > 30);
        assert!(wrong.is_empty(), "{}", wrong.concat());
    }

    #[test]
    fn objdump_agrees() {
        macro_rules! listing {
            ($name:literal) => {
                include_str!(concat!("../../tests/fixtures/instructions/", $name, ".tsv"))
            };
        }
        for (set, listing) in [
            (Set::Thumb, listing!("thumb")),
            (Set::AArch64, listing!("aarch64")),
            (Set::RiscV32, listing!("riscv32")),
            (Set::RiscV64, listing!("riscv64")),
            (Set::X86, listing!("x86")),
            (Set::X86_64, listing!("x86-64")),
        ] {
            compare_with_objdump(set, listing);
        }
    }
}
