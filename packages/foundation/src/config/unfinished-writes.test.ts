import { mkdir, readdir, stat, utimes, writeFile } from 'node:fs/promises'
import { mkdtempSync } from 'node:fs'
import { spawnSync } from 'node:child_process'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { dataPaths } from './data-paths.ts'
import { openHomeFolder } from './home-folder.ts'
import { removeUnfinishedWrites } from './unfinished-writes.ts'

async function aHome() {
  const paths = dataPaths(mkdtempSync(join(tmpdir(), 'flotilla-unfinished-')))
  await openHomeFolder(paths)
  const brief = join(paths.briefsFolder, '776f726b6572')
  await mkdir(brief)
  return { paths, brief }
}

test('an agent token that a killed mesh was writing is deleted at the next start, even if it is recent', async () => {
  const { paths, brief } = await aHome()
  await writeFile(join(brief, '.door-token.53c850becbc3.tmp'), 'token')
  await writeFile(join(brief, 'SYSTEM.md'), 'text')
  const { mtimeMs } = await stat(join(brief, '.door-token.53c850becbc3.tmp'))
  expect(await removeUnfinishedWrites(paths, Math.ceil(mtimeMs))).toBe(1)
  expect(await readdir(brief)).toEqual(['SYSTEM.md'])
})

test('an unfinished write of a setting is taken away once it is old, and no other file', async () => {
  const { paths } = await aHome()
  const old = join(paths.configFolder, '.permissions.json.0af1ad2672f7.tmp')
  const young = join(paths.configFolder, '.cron.json.0af1ad2672f8.tmp')
  const others = ['.gitignore', '.permissions.json.tmp', 'permissions.json.0af1ad2672f7.tmp']
  for (const path of [old, young, ...others.map((name) => join(paths.configFolder, name))])
    await writeFile(path, '{}')
  const now = Math.ceil((await stat(young)).mtimeMs)
  for (const path of [old, ...others.map((name) => join(paths.configFolder, name))])
    await utimes(path, (now - 120_000) / 1000, (now - 120_000) / 1000)
  expect(await removeUnfinishedWrites(paths, now)).toBe(1)
  expect((await readdir(paths.configFolder)).toSorted()).toEqual(
    [...others, '.cron.json.0af1ad2672f8.tmp'].toSorted(),
  )
})

test('a recent file is removed if its writer has ended, and kept while it runs', async () => {
  const { paths } = await aHome()
  const { pid: ended } = spawnSync(process.execPath, ['--version'])
  const names = [`.cron.json.${ended}-0af1ad2672f7.tmp`, `.cron.json.${process.pid}-0af1ad2672f8.tmp`]
  for (const name of names) await writeFile(join(paths.configFolder, name), '{}')
  expect(await removeUnfinishedWrites(paths, Date.now())).toBe(1)
  expect(await readdir(paths.configFolder)).toEqual([names[1]])
})
