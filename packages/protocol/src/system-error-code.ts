/** Codes of Linux for which Node has no name: it reports them as `UNKNOWN` with the number alone. */
const namedByNumber: Readonly<Record<number, string>> = {
  116: 'ESTALE',
  117: 'EUCLEAN',
  122: 'EDQUOT',
}

/** The code of a failed system call, such as `ENOSPC`; empty for an error that has none. Pure. */
export function systemCodeOf(error: unknown): string {
  if (!(error instanceof Error) || !('code' in error)) return ''
  const { code } = error
  if (code !== 'UNKNOWN' || !('errno' in error)) return String(code)
  return namedByNumber[Math.abs(Number(error.errno))] ?? code
}

/** What a failed write means, in words that name no path. */
export const writeFaultWords: Readonly<Record<string, string>> = {
  ENOSPC: 'no space left',
  EDQUOT: 'the disk quota is used up',
  EFBIG: 'the file has reached its size limit',
  EROFS: 'the file system is read-only',
  EIO: 'the disk reports an error',
  EUCLEAN: 'the file system is damaged',
  ESTALE: 'the network file system has lost the file',
  ENODEV: 'the disk is gone',
  ENXIO: 'the disk is gone',
  ENOTCONN: 'the program behind the file system has ended',
  EMFILE: 'the process has too many open files',
  ENFILE: 'the machine has too many open files',
}
