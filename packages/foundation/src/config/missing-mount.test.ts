import { mkdtemp, readdir } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { dataPaths } from './data-paths.ts'
import { openHomeFolder } from './home-folder.ts'
import { missingMount } from './missing-mount.ts'

const planned = [
  '# <file system> <mount point> <type> <options> <dump> <pass>',
  'UUID=1 / ext4 defaults 0 1',
  'UUID=2 none swap sw 0 0',
  'UUID=3\t/srv/fleet\text4\tnofail\t0 2',
  'UUID=4 /srv/my\\040fleet/ ext4 nofail 0 2',
  '#UUID=5 /srv/old ext4 nofail 0 2',
].join('\n')
const row = (point: string): string => `36 35 98:0 / ${point} rw,noatime master:1 - ext4 /dev/sdb1 rw`
const root = row('/')

describe('a mount point without its file system', () => {
  test.each([
    ['the folder itself', '/srv/fleet', '/srv/fleet'],
    ['a folder below it', '/srv/fleet/home', '/srv/fleet'],
    ['a folder below one with a blank in its name', '/srv/my fleet/home', '/srv/my fleet'],
    ['a folder beside it', '/srv/fleet2', null],
    ['a folder below the root alone', '/home/ann/.flotilla', null],
    ['a folder of a line that is a comment', '/srv/old', null],
  ])('a mount point without its file system is found for %s', (_, folder, expected) => {
    expect(missingMount(folder, { planned, mounted: root })).toBe(expected)
  })

  test('a mount point without its file system is not reported once the file system is mounted', () => {
    const mounted = [root, row('/srv/fleet'), row('/srv/my\\040fleet')].join('\n')
    for (const folder of ['/srv/fleet/home', '/srv/my fleet'])
      expect(missingMount(folder, { planned, mounted })).toBe(null)
  })

  test('a mount point without its file system gets no new fleet, and no folder', async () => {
    const home = await mkdtemp(join(tmpdir(), 'flotilla-unmounted-'))
    const paths = dataPaths(home)
    const tables = { planned: `UUID=3 ${home} ext4 nofail 0 2`, mounted: root }
    await expect(openHomeFolder(paths, async () => tables)).rejects.toMatchObject({
      code: 'home-unusable',
      detail: expect.stringContaining(`${home} is a mount point in /etc/fstab and nothing is mounted there`),
    })
    expect(await readdir(home)).toEqual([])
    await openHomeFolder(paths, async () => ({ ...tables, mounted: row(home) }))
    // A home that has begun in the folder itself starts, whatever is planned.
    expect(await openHomeFolder(paths, async () => tables)).toMatchObject({ fresh: false })
  })
})
