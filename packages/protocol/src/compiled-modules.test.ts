import { expect, test } from 'vitest'
import { compiledModulesFolder } from './compiled-modules.ts'

test.each([
  [undefined, '/home/ann/.cache/flotilla/compiled'],
  ['', '/home/ann/.cache/flotilla/compiled'],
  ['relative', '/home/ann/.cache/flotilla/compiled'],
  ['/var/cache/ann', '/var/cache/ann/flotilla/compiled'],
])('with XDG_CACHE_HOME %j what was compiled is kept in %s', (cacheHome, folder) => {
  expect(compiledModulesFolder(cacheHome, '/home/ann')).toBe(folder)
})
