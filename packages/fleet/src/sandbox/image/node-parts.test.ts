import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { canMount, smallDiskForTest } from '../../../../../tests/support/small-disk.ts'
import { playwrightArchive } from './node-parts.ts'

const packageDirectory = join(import.meta.dirname, '../../../../..')
const isThere = existsSync(join(packageDirectory, 'node_modules/playwright-core'))

test.skipIf(!canMount || !isThere)(
  'a package that a full disk cut off is not taken for whole at the next start',
  async () => {
    // The package of this checkout is packed, as on a machine without a registry.
    vi.stubEnv('npm_config_offline', 'true')
    try {
      const disk = await smallDiskForTest({ sizeMb: 8 })
      disk.fill(512 * 1024)
      const cacheDirectory = disk.folder
      const get = () => playwrightArchive({ packageDirectory, cacheDirectory, progress: () => {} })
      await expect(get()).rejects.toMatchObject({ id: 'npm-unavailable' })
      expect(readdirSync(cacheDirectory)).toEqual(['filler'])
      await disk.drain()
      const names = execFileSync('tar', ['-tzf', await get()]).toString()
      expect(names).toContain('package/package.json')
      expect(readdirSync(cacheDirectory)).toEqual([expect.stringMatching(/^playwright-core-.*\.tgz$/)])
    } finally {
      vi.unstubAllEnvs()
    }
  },
)
