//! MurmurHash3, the 32-bit and the 128-bit (x64) variant. Partition keys are hashed with the seed 0.

const SEED: u32 = 0;

/// The 32-bit hash.
pub(super) fn hash32(data: &[u8]) -> u32 {
    const C1: u32 = 0xcc9e_2d51;
    const C2: u32 = 0x1b87_3593;
    let scramble = |block: u32| block.wrapping_mul(C1).rotate_left(15).wrapping_mul(C2);

    let mut hash = SEED;
    let (blocks, tail) = data.as_chunks::<4>();
    for block in blocks {
        hash ^= scramble(u32::from_le_bytes(*block));
        hash = hash.rotate_left(13).wrapping_mul(5).wrapping_add(0xe654_6b64);
    }
    if !tail.is_empty() {
        let mut block = [0; 4];
        block[..tail.len()].copy_from_slice(tail);
        hash ^= scramble(u32::from_le_bytes(block));
    }
    hash ^= data.len() as u32;
    hash ^= hash >> 16;
    hash = hash.wrapping_mul(0x85eb_ca6b);
    hash ^= hash >> 13;
    hash = hash.wrapping_mul(0xc2b2_ae35);
    hash ^ hash >> 16
}

/// The 128-bit hash, as one number with the first half in the lower bits.
pub(super) fn hash128(data: &[u8]) -> u128 {
    murmur128(data, u128::from(SEED))
}

/// The 128-bit hash with a seed of 128 bits. Halves of hash and seed are in the order that they are computed in, the
/// first in the lower bits.
pub fn murmur128(data: &[u8], seed: u128) -> u128 {
    const C1: u64 = 0x87c3_7b91_1142_53d5;
    const C2: u64 = 0x4cf5_ad43_2745_937f;
    let scramble1 = |block: u64| block.wrapping_mul(C1).rotate_left(31).wrapping_mul(C2);
    let scramble2 = |block: u64| block.wrapping_mul(C2).rotate_left(33).wrapping_mul(C1);
    let halves = |block: u128| (block as u64, (block >> 64) as u64);

    let (mut h1, mut h2) = halves(seed);
    let (blocks, tail) = data.as_chunks::<16>();
    for block in blocks {
        let (k1, k2) = halves(u128::from_le_bytes(*block));
        h1 ^= scramble1(k1);
        h1 = h1.rotate_left(27).wrapping_add(h2).wrapping_mul(5).wrapping_add(0x52dc_e729);
        h2 ^= scramble2(k2);
        h2 = h2.rotate_left(31).wrapping_add(h1).wrapping_mul(5).wrapping_add(0x3849_5ab5);
    }
    if !tail.is_empty() {
        let mut block = [0; 16];
        block[..tail.len()].copy_from_slice(tail);
        let (k1, k2) = halves(u128::from_le_bytes(block));
        h1 ^= scramble1(k1);
        h2 ^= scramble2(k2);
    }
    h1 ^= data.len() as u64;
    h2 ^= data.len() as u64;
    h1 = h1.wrapping_add(h2);
    h2 = h2.wrapping_add(h1);
    h1 = finish(h1);
    h2 = finish(h2);
    h1 = h1.wrapping_add(h2);
    h2 = h2.wrapping_add(h1);
    u128::from(h2) << 64 | u128::from(h1)
}

fn finish(mut hash: u64) -> u64 {
    hash ^= hash >> 33;
    hash = hash.wrapping_mul(0xff51_afd7_ed55_8ccd);
    hash ^= hash >> 33;
    hash = hash.wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    hash ^ hash >> 33
}
