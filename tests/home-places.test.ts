import { readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { expect, test } from 'vitest'
import { backupsFolder, dataPaths } from '../packages/foundation/src/config/index.ts'
import { belongsInHome } from '../packages/operations/src/backup/entry-path.ts'
import { isLeftOutPlace, leftOutPlaces } from '../packages/operations/src/backup/left-out-places.ts'
import { isKnownPlace } from '../packages/operations/src/backup/list-home-files.ts'
import { readSourceFiles, repositoryRoot } from './source-files.ts'

/** How the sources build a path of the `data` folder of a home without `dataPaths`. */
const builtPaths = [
  /join\([^()]*\b(?:home|paths\.home),\s*'data',\s*'([^']+)'/g,
  /join\([^()]*\b(?:paths\.dataFolder|dataFolder|data),\s*'([^']+)'/g,
  /join\(dirname\([^()]*\bvolumesFolder\),\s*'([^']+)'/g,
] as const

/** Every entry of a home and of its `data` folder that a package names. */
function namedPlaces(): readonly string[] {
  const home = '/home'
  const paths = [...Object.values(dataPaths(home)), backupsFolder(home)].map((path) => relative(home, path))
  const built = readSourceFiles()
    .filter(({ path, isTest }) => path.startsWith('packages/') && !isTest)
    .flatMap(({ text }) =>
      builtPaths.flatMap((pattern) => [...text.matchAll(pattern)].map(([, name = '']) => `data/${name}`)),
    )
  return [...new Set([...paths, ...built])].filter((path) => path !== '').toSorted()
}

test('each file and folder of a home that a package names is in backups, or left out with a reason', () => {
  const places = namedPlaces()
  // The scan finds what `dataPaths` lacks.
  expect(places).toEqual(expect.arrayContaining(['data/home-id', 'data/typed-lines.json', 'data/registries']))
  const isListed = (path: string) =>
    isKnownPlace(
      path
        .split('/')
        .slice(0, path.startsWith('data/') ? 2 : 1)
        .join('/'),
    )
  expect(places.filter((path) => !isListed(path))).toEqual([])
})

test('no place is both in backups and left out, and the page about backups names each one that is left out', () => {
  expect(leftOutPlaces.filter(({ path }) => belongsInHome(path) || belongsInHome(`${path}/x`))).toEqual([])
  const kept = ['.env', 'config', 'data/mesh-secret', 'data/wallet-seed', 'data/artifacts', 'templates']
  expect(kept.filter((path) => isLeftOutPlace(path))).toEqual([])
  const page = readFileSync(join(repositoryRoot, 'docs/operations/backup.md'), 'utf8')
  expect(leftOutPlaces.filter(({ path }) => !page.includes(`\`${path}\``))).toEqual([])
})
