import { expect, test } from 'vitest'
import { compiledModulesFolder, compiledProgramFolder } from './compiled-modules.ts'

test.each([
  [undefined, '/home/ann/.cache/flotilla/compiled'],
  ['', '/home/ann/.cache/flotilla/compiled'],
  ['relative', '/home/ann/.cache/flotilla/compiled'],
  ['/var/cache/ann', '/var/cache/ann/flotilla/compiled'],
])('with XDG_CACHE_HOME %j what was compiled is kept in %s', (cacheHome, folder) => {
  expect(compiledModulesFolder(cacheHome, '/home/ann')).toBe(folder)
})

test('what was compiled of one build lies apart from that of another', () => {
  const folderOf = (file: string | undefined) => compiledProgramFolder(undefined, '/home/ann', file)
  expect(folderOf('/x/dist/programs/cli-1f/main.mjs')).toBe('/home/ann/.cache/flotilla/compiled/cli-1f')
  expect(folderOf('/x/packages/cli/src/main.ts')).toBe('/home/ann/.cache/flotilla/compiled/src')
  expect(folderOf(undefined)).toBe('/home/ann/.cache/flotilla/compiled/')
})
