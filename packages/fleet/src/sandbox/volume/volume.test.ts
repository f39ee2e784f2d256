import { mkdir, mkdtemp, rm, symlink, link, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { measureFolders } from '../process/measure-folders.ts'
import { readSuperblock } from './ext4-size.ts'
import { fileCountMax } from '../sandbox-spec.ts'
import { readCounts } from '../measure-use.ts'
import { planSize } from './plan-size.ts'
import { volumeSupport } from './volume-support.ts'
import type { VolumeFacts } from './volume-support.ts'

const mb = 1024 * 1024

async function aFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "flotilla measure's "))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  return folder
}

describe('volumes of a fixed size', () => {
  const good: VolumeFacts = {
    uid: 0,
    flavour: 'docker',
    securityOptions: ['name=seccomp,profile=default'],
    missingPrograms: [],
    hasLoopDevices: true,
  }
  it('volumes of a fixed size are made where everything is at hand', () => {
    expect(volumeSupport(good)).toEqual({ kind: 'volume' })
  })

  it.each<[Partial<VolumeFacts>, RegExp]>([
    [{ uid: 1000 }, /root/],
    [{ flavour: 'podman' }, /podman/],
    [{ securityOptions: ['name=userns'] }, /user ids/],
    [{ missingPrograms: ['mkfs.ext4'] }, /mkfs\.ext4 not installed \(apt-get install/],
    [{ hasLoopDevices: false }, /loop-control/],
  ])('are not created with %o, and the reason is given', (changes, why) => {
    const bound = volumeSupport({ ...good, ...changes })
    expect(bound).toMatchObject({ kind: 'meter', why: expect.stringMatching(why) as unknown })
  })

  it('volumes of a fixed size grow, shrink, stay, or refuse a limit below their use', () => {
    const now = { sizeBytes: 100 * mb, usedBytes: 40 * mb }
    expect(planSize(now, 100 * mb)).toEqual({ kind: 'keep' })
    expect(planSize(now, 200 * mb)).toEqual({ kind: 'grow' })
    expect(planSize(now, 50 * mb)).toEqual({ kind: 'shrink' })
    expect(planSize(now, 39 * mb)).toMatchObject({
      kind: 'refuse',
      reason: expect.stringMatching(/39 MB is smaller.*40 MB.*keeps 100 MB.*data_limit_mb/) as unknown,
    })
  })

  it('volumes of a fixed size have room for many small files and a bound on them', () => {
    expect(fileCountMax(64 * mb)).toBe(16_384)
    expect(fileCountMax(5120 * mb)).toBe(327_680)
  })

  it('volumes of a fixed size have their size in their superblock, also beyond 16 TB', () => {
    const bytes = Buffer.alloc(1024)
    expect(readSuperblock(bytes)).toBeNull()
    bytes.writeUInt16LE(0xef53, 0x38)
    bytes.writeUInt32LE(2, 0x18)
    bytes.writeUInt32LE(1000, 0x4)
    bytes.writeUInt32LE(400, 0xc)
    expect(readSuperblock(bytes)).toEqual({ sizeBytes: 4_096_000, usedBytes: 600 * 4096 })
    bytes.writeUInt32LE(0x80, 0x60)
    bytes.writeUInt32LE(1, 0x150)
    expect(readSuperblock(bytes)?.sizeBytes).toBe((2 ** 32 + 1000) * 4096)
  })
})

describe('counting what lies in a folder', () => {
  it('counting what lies in a folder counts blocks, folders and files, each once whatever it is called', async () => {
    const folder = await aFolder()
    await mkdir(join(folder, 'deep', 'down'), { recursive: true })
    await writeFile(join(folder, 'deep', 'one'), 'x'.repeat(100_000))
    await link(join(folder, 'deep', 'one'), join(folder, 'again'))
    await symlink('/', join(folder, 'escape'))
    const uses = await measureFolders([
      { agentId: 'a', path: folder },
      { agentId: 'gone', path: join(folder, 'no such') },
    ])
    expect([...uses.keys()]).toEqual(['a'])
    const use = uses.get('a')
    expect(use?.complete).toBe(true)
    // Three folders, the file and the link.
    expect(use?.files).toBe(5)
    expect(use?.bytes).toBeGreaterThanOrEqual(100_000)
    expect(use?.bytes).toBeLessThan(200_000)
  })

  it('counting what lies in a folder gives each folder its own count, in order', async () => {
    const [big, small] = [await aFolder(), await aFolder()]
    await writeFile(join(big, 'big'), 'x'.repeat(1_000_000))
    const uses = await measureFolders([
      { agentId: 'small', path: small },
      { agentId: 'big', path: big },
    ])
    expect(uses.get('big')?.bytes).toBeGreaterThanOrEqual(1_000_000)
    expect(uses.get('small')?.bytes).toBeLessThan(100_000)
  })

  it('counting what lies in a folder parses the printed lines and nothing else', () => {
    expect(readCounts('10 2 whole\nfind: no\n4096 1 part\n')).toEqual([
      { bytes: 10, files: 2, complete: true },
      { bytes: 4096, files: 1, complete: false },
    ])
  })
})
