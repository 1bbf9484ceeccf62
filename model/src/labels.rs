//! The names of the 1000 classes of ImageNet-1k, in the order of the network's outputs.

/// The names, spelt in capitals as Workers AI spells them.
pub(crate) fn all() -> Vec<&'static str> {
    include_str!("labels.txt").lines().collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn there_is_one_name_for_each_output() {
        let labels = super::all();
        assert_eq!(labels.len(), 1000);
        assert_eq!((labels[0], labels[999]), ("TENCH", "TOILET TISSUE"));
    }
}
