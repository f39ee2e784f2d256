import { open } from 'node:fs/promises'

/** The size fields of an ext4 superblock. */
export interface Ext4Size {
  readonly sizeBytes: number
  /** Number of bytes in use at the last clean unmount. */
  readonly usedBytes: number
}

const superblockAt = 1024
const superblockBytes = 1024
const magic = 0xef53

/** Parses an ext4 superblock (`ext4_super_block` of the kernel); null for any other bytes. Pure. */
export function readSuperblock(bytes: Buffer): Ext4Size | null {
  if (bytes.length < superblockBytes || bytes.readUInt16LE(0x38) !== magic) return null
  const blockBytes = 1024 * 2 ** bytes.readUInt32LE(0x18)
  const is64Bit = (bytes.readUInt32LE(0x60) & 0x80) !== 0
  const count = (low: number, high: number) =>
    bytes.readUInt32LE(low) + (is64Bit ? bytes.readUInt32LE(high) * 2 ** 32 : 0)
  const blocks = count(0x4, 0x150)
  return { sizeBytes: blocks * blockBytes, usedBytes: (blocks - count(0xc, 0x158)) * blockBytes }
}

/** Returns the size fields of a file with an ext4 file system; null if it contains no such file system. */
export async function ext4Size(path: string): Promise<Ext4Size | null> {
  const file = await open(path, 'r')
  try {
    const { buffer, bytesRead } = await file.read(
      Buffer.alloc(superblockBytes),
      0,
      superblockBytes,
      superblockAt,
    )
    return readSuperblock(buffer.subarray(0, bytesRead))
  } finally {
    await file.close()
  }
}
