import { spawnSync } from 'node:child_process'
import { describe, expect, it } from 'vitest'
import { tarArchive, tarDirectory, tarFile, type TarEntry } from './tar-archive.ts'

async function bytesOf(entries: readonly TarEntry[]): Promise<Buffer> {
  const pieces: Uint8Array[] = []
  for await (const piece of tarArchive(entries)) pieces.push(piece)
  return Buffer.concat(pieces)
}

const owner = { uid: 1000, mode: 0o600 }

describe('tarArchive', () => {
  it('tarArchive writes what tar lists with owner, mode and size', async () => {
    const archive = await bytesOf([
      tarDirectory('a', { uid: 1000, mode: 0o700 }),
      tarFile('a/b', Buffer.from('hello'), owner),
    ])
    const listed = spawnSync('tar', ['-tv', '--numeric-owner'], { input: archive, encoding: 'utf8' })
    expect(listed.status).toBe(0)
    expect(listed.stdout).toMatch(/drwx------ 1000\/1000\s+0 .* a\/\n-rw------- 1000\/1000\s+5 .* a\/b/)
  })

  it('tarArchive keeps content of every length around a block whole', async () => {
    for (const length of [0, 1, 511, 512, 513, 10_000]) {
      const archive = await bytesOf([
        tarFile('x', Buffer.alloc(length, 7), owner),
        tarFile('y', Buffer.from('end'), owner),
      ])
      expect(archive.length % 512).toBe(0)
      expect(spawnSync('tar', ['-xO', '-f', '-', 'x'], { input: archive }).stdout).toEqual(
        Buffer.alloc(length, 7),
      )
      expect(spawnSync('tar', ['-xO', '-f', '-', 'y'], { input: archive }).stdout.toString()).toBe('end')
    }
  })

  it('tarArchive splits a long path at a slash and refuses one that cannot be split', async () => {
    const long = `${'d'.repeat(90)}/${'f'.repeat(90)}`
    const archive = await bytesOf([tarFile(long, Buffer.from('1'), owner)])
    expect(spawnSync('tar', ['-t'], { input: archive, encoding: 'utf8' }).stdout.trim()).toBe(long)
    await expect(bytesOf([tarFile('f'.repeat(101), Buffer.from('1'), owner)])).rejects.toThrow(RangeError)
  })

  it('tarArchive gives the same bytes for the same content', async () => {
    const entries = [tarFile('x', Buffer.from('1'), owner)]
    expect(await bytesOf(entries)).toEqual(await bytesOf(entries))
  })
})
