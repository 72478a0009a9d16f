//! Made-up vectors that follow from a seed: topics about one axis, as a model's lie in a cone; and questions that
//! meet a topic, and others that nothing is near to.

#![allow(dead_code, reason = "each bench uses its part of it")]

/// The width of the default model's vectors.
pub const DIMS: usize = 384;
const TOPICS: usize = 500;
/// How many questions of each sort there are.
pub const QUERIES: usize = 64;

/// A pseudo-random sequence (splitmix64, Steele, Lea and Flood 2014).
pub struct Random(pub u64);

impl Random {
    /// The next 64 bits.
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// In [0, 1).
    pub fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Small numbers are common and large ones rare, about as words are (Zipf's law).
    pub fn zipf(&mut self, below: u64) -> u64 {
        ((below as f64).powf(self.unit()) as u64).clamp(1, below) - 1
    }
}

/// Rows and what is asked of them.
pub struct Vectors {
    /// What they all lie about.
    pub axis: Vec<f32>,
    /// One after the other.
    pub rows: Vec<f32>,
    /// Questions on a topic.
    pub on: Vec<Vec<f32>>,
    /// Questions off every topic.
    pub off: Vec<Vec<f32>>,
}

impl Vectors {
    /// So many rows.
    pub fn of(rows: usize) -> Vectors {
        let mut random = Random(4);
        let axis = normal(&mut random);
        let topics: Vec<Vec<f32>> = (0..TOPICS).map(|_| near(&axis, 0.5, &mut random)).collect();
        let rows = (0..rows).flat_map(|row| near(&topics[row * 7 % TOPICS], 0.5, &mut random)).collect();
        let on = (0..QUERIES).map(|query| near(&topics[query * 13 % TOPICS], 0.5, &mut random)).collect();
        let off = (0..QUERIES).map(|_| near(&axis, 0.7, &mut random)).collect();
        Vectors { axis, rows, on, off }
    }
}

/// A vector of unit length, that far from another in any direction.
fn near(centre: &[f32], distance: f32, random: &mut Random) -> Vec<f32> {
    let moved: Vec<f32> =
        normal(random).iter().zip(centre).map(|(noise, centre)| centre + distance * noise).collect();
    unit(moved)
}

fn normal(random: &mut Random) -> Vec<f32> {
    unit((0..DIMS).map(|_| (0..4).map(|_| random.unit() as f32 - 0.5).sum()).collect())
}

fn unit(mut vector: Vec<f32>) -> Vec<f32> {
    let length = vector.iter().map(|number| number * number).sum::<f32>().sqrt();
    vector.iter_mut().for_each(|number| *number /= length);
    vector
}
