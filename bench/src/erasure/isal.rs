//! Intel's ISA-L, loaded at run time: what our coder is measured beside.

use libloading::{Library, Symbol};
use std::{
    ffi::{OsStr, c_int, c_uchar},
    fs,
};

type Generate = unsafe extern "C" fn(*mut c_uchar, c_int, c_int);
type Invert = unsafe extern "C" fn(*mut c_uchar, *mut c_uchar, c_int) -> c_int;
type Prepare = unsafe extern "C" fn(c_int, c_int, *const c_uchar, *mut c_uchar);
type Encode =
    unsafe extern "C" fn(c_int, c_int, c_int, *const c_uchar, *const *const u8, *const *mut u8);

/// The library.
pub struct Isal(Library);

impl Isal {
    /// Loads it from a file or by its name.
    ///
    /// # Errors
    /// What the loader says.
    pub fn load(library: &OsStr) -> Result<Self, libloading::Error> {
        // SAFETY: ISA-L is a library of plain functions and runs nothing when loaded.
        unsafe { Library::new(library) }.map(Self)
    }

    /// The file that was loaded; its name ends in the version.
    pub fn file(&self) -> Option<String> {
        let maps = fs::read_to_string("/proc/self/maps").ok()?;
        let line = maps.lines().find(|line| line.contains("libisal"))?;
        line.split_whitespace().last().map(str::to_owned)
    }

    /// What makes the parity of (k, m) from its data shards.
    ///
    /// # Errors
    /// Where a function is missing.
    pub fn encoder(&self, k: usize, m: usize) -> Result<Tables<'_>, libloading::Error> {
        let matrix = self.generator(k, m)?;
        self.tables(k, m, &matrix[k * k..])
    }

    /// What makes the first m data shards from the other data shards and all parity.
    ///
    /// # Errors
    /// Where a function is missing.
    pub fn decoder(&self, k: usize, m: usize) -> Result<Tables<'_>, libloading::Error> {
        let mut present = self.generator(k, m)?[m * k..].to_vec();
        let mut inverse = vec![0; k * k];
        // SAFETY: both matrices have k rows and columns.
        unsafe {
            let invert = self.0.get::<Invert>(b"gf_invert_matrix")?;
            let status = invert(present.as_mut_ptr(), inverse.as_mut_ptr(), k as c_int);
            assert_eq!(status, 0, "a Cauchy matrix has an inverse");
        }
        self.tables(k, m, &inverse[..m * k])
    }

    fn generator(&self, k: usize, m: usize) -> Result<Vec<u8>, libloading::Error> {
        let mut matrix = vec![0; (k + m) * k];
        // SAFETY: the matrix has k + m rows and k columns.
        unsafe {
            let generate = self.0.get::<Generate>(b"gf_gen_cauchy1_matrix")?;
            generate(matrix.as_mut_ptr(), (k + m) as c_int, k as c_int);
        }
        Ok(matrix)
    }

    fn tables(&self, k: usize, m: usize, rows: &[u8]) -> Result<Tables<'_>, libloading::Error> {
        assert_eq!(rows.len(), k * m);
        let mut tables = vec![0; 32 * k * m];
        // SAFETY: erasure_code.h asks for 32 bytes for each of the k * m coefficients.
        let encode = unsafe {
            let prepare = self.0.get::<Prepare>(b"ec_init_tables")?;
            prepare(k as c_int, m as c_int, rows.as_ptr(), tables.as_mut_ptr());
            self.0.get::<Encode>(b"ec_encode_data")?
        };
        Ok(Tables {
            encode,
            k,
            m,
            tables,
        })
    }
}

/// A matrix of m rows and k columns that multiplies shards.
pub struct Tables<'a> {
    encode: Symbol<'a, Encode>,
    k: usize,
    m: usize,
    tables: Vec<u8>,
}

impl Tables<'_> {
    /// Binds the shards that it reads and writes, so that a run is nothing but ISA-L's call.
    ///
    /// # Panics
    /// If the shards are not k and m, all of one length.
    pub fn bind<'a>(
        &'a self,
        sources: &'a [&[u8]],
        outputs: &'a mut [&mut [u8]],
    ) -> impl FnMut() + 'a {
        let bytes = sources[0].len();
        assert!(sources.len() == self.k && sources.iter().all(|shard| shard.len() == bytes));
        assert!(outputs.len() == self.m && outputs.iter().all(|shard| shard.len() == bytes));
        let inputs: Vec<*const u8> = sources.iter().map(|shard| shard.as_ptr()).collect();
        let outputs: Vec<*mut u8> = outputs.iter_mut().map(|shard| shard.as_mut_ptr()).collect();
        move || {
            let (bytes, k, m) = (bytes as c_int, self.k as c_int, self.m as c_int);
            // SAFETY: numbers and lengths were checked; the shards are borrowed as long as this.
            unsafe {
                (self.encode)(
                    bytes,
                    k,
                    m,
                    self.tables.as_ptr(),
                    inputs.as_ptr(),
                    outputs.as_ptr(),
                );
            }
        }
    }
}
