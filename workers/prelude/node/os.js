// As much of `node:os` as means anything where there is no machine.
export const EOL = "\n";
export const platform = () => "linux";
export const type = () => "Linux";
export const arch = () => "x64";
export const hostname = () => "localhost";
export const tmpdir = () => "/tmp";
export const homedir = () => "/tmp";
export const cpus = () => [];
export const availableParallelism = () => 1;
export const endianness = () => "LE";
export default { EOL, platform, type, arch, hostname, tmpdir, homedir, cpus, availableParallelism, endianness };
