import { execFileSync } from 'node:child_process'
import { chmod, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { firstFile, readTar } from './read-tar.ts'
import { tarArchive, tarFile } from './tar-archive.ts'

async function archive(format: string): Promise<Buffer> {
  const folder = await mkdtemp(join(tmpdir(), 'flotilla-tar-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const long = 'x'.repeat(120)
  await mkdir(join(folder, 'usr', long), { recursive: true })
  await writeFile(join(folder, 'usr', 'plain'), 'content')
  await chmod(join(folder, 'usr', 'plain'), 0o4755)
  await writeFile(join(folder, 'usr', long, 'deep'), 'y'.repeat(2000))
  await symlink('plain', join(folder, 'usr', 'link'))
  return execFileSync('tar', [
    '--create',
    `--format=${format}`,
    '--sort=name',
    '--directory',
    folder,
    './usr',
  ])
}

/** The bytes in pieces that divide no block. */
async function* inPieces(bytes: Buffer): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += 333) yield bytes.subarray(at, at + 333)
}

test.each(['gnu', 'pax', 'posix'])('entries of an archive of the format %s are read', async (format) => {
  const found: unknown[] = []
  for await (const entry of readTar(inPieces(await archive(format)))) {
    const { path, type, mode, target } = entry
    const content = path === 'usr/plain' ? (await entry.content(100)).toString() : null
    found.push({ path, type, setuid: (mode & 0o4000) !== 0, target, content })
  }
  const long = 'x'.repeat(120)
  const none = { setuid: false, target: '', content: null }
  expect(found).toEqual([
    { ...none, path: 'usr', type: '5' },
    { ...none, path: 'usr/link', type: '2', target: 'plain' },
    { ...none, path: 'usr/plain', type: '0', setuid: true, content: 'content' },
    { ...none, path: `usr/${long}`, type: '5' },
    { ...none, path: `usr/${long}/deep`, type: '0' },
  ])
})

test('a file that is larger than expected is not read', async () => {
  const read = async () => {
    for await (const entry of readTar(inPieces(await archive('pax'))))
      if (entry.path.endsWith('/deep')) await entry.content(100)
  }
  await expect(read()).rejects.toThrow(RangeError)
})

test('an archive that ends early is refused', async () => {
  const bytes = await archive('gnu')
  const read = async () => {
    for await (const { path } of readTar(inPieces(bytes.subarray(0, 3000)))) void path
  }
  await expect(read()).rejects.toThrow('ends early')
})

test('the first file is read to its end before the source is closed', async () => {
  const content = Buffer.alloc(100_000, 'x')
  const parts = await Array.fromAsync(tarArchive([tarFile('large', content, { uid: 0, mode: 0o644 })]))
  const read = await firstFile(inPieces(Buffer.concat(parts)), content.length)
  expect(read?.equals(content)).toBe(true)
  expect(await firstFile(inPieces(Buffer.alloc(1024)), 1)).toBe(null)
})
