import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { dataPaths } from '../../../foundation/src/config/index.ts'
import { homeBounds, listHomeFiles } from './list-home-files.ts'
import { agentsMax } from '../../../fleet/src/agents/administration/create-agent.ts'

/** `save_artifact` refuses more. */
const artifactsPerAgentMax = 1000
const open = { secrets: false, passphrase: null }

function aHome() {
  const folder = mkdtempSync(join(tmpdir(), 'list-home-files-'))
  onTestFinished(() => void execFileSync('rm', ['-rf', folder]))
  const paths = dataPaths(folder)
  mkdirSync(paths.configFolder)
  writeFileSync(paths.settingsFile, '{}')
  const artifacts = (agent: string, count: number) => {
    const of = join(paths.artifactsFolder, Buffer.from(agent).toString('hex'))
    mkdirSync(of, { recursive: true })
    for (let number = 0; number < count; number += 1) writeFileSync(join(of, `note-${number}`), '')
    return of
  }
  return { paths, artifacts }
}

test('the bounds take the largest fleet, in which each agent has all the artifacts that it may have', () => {
  expect(homeBounds.artifactsPerAgentMax).toBeGreaterThanOrEqual(artifactsPerAgentMax)
  expect(homeBounds.entriesPerRootMax).toBeGreaterThanOrEqual(agentsMax)
  expect(homeBounds.filesMax).toBeGreaterThan(agentsMax * artifactsPerAgentMax)
  const { paths, artifacts } = aHome()
  for (let agent = 0; agent < 101; agent += 1) artifacts(`agent-${agent}`, 10)
  const bounds = { entriesPerRootMax: 101, artifactsPerAgentMax: 10, filesMax: 1011 }
  expect(listHomeFiles(paths, open, bounds)).toMatchObject({ files: { length: 1011 }, skipped: { count: 0 } })
})

test('an agent with more artifacts than its share is listed up to it by name, and others lose nothing', () => {
  const { paths, artifacts } = aHome()
  artifacts('a', 30)
  artifacts('b', 10)
  const bounds = { entriesPerRootMax: 20, artifactsPerAgentMax: 10, filesMax: 1000 }
  const { files, skipped } = listHomeFiles(paths, open, bounds)
  const of = (folder: string) => files.filter(({ path }) => path.startsWith(folder)).length
  expect([of('config/'), of('data/artifacts/61/'), of('data/artifacts/62/')]).toEqual([1, 10, 10])
  expect(skipped).toEqual({
    count: 1,
    first: [{ name: 'data/artifacts/61/', why: expect.stringContaining('more than 10 entries') }],
  })
})

test('what the home’s folder holds beside Flotilla’s files is named, and so is a link among artifacts', () => {
  const { paths, artifacts } = aHome()
  symlinkSync('/etc/passwd', join(artifacts('a', 1), 'link'))
  writeFileSync(join(paths.home, 'thesis.txt'), 'years of work')
  mkdirSync(join(paths.home, 'backups'))
  writeFileSync(join(paths.dataFolder, 'new-ledger'), 'of a module that no list of backups knows')
  for (const known of ['mesh.db', 'mesh.db.before-12', 'mesh.log', '.mesh.json.12-0123456789ab.tmp'])
    writeFileSync(join(paths.dataFolder, known), '')
  const { files, skipped } = listHomeFiles(paths, open)
  expect(files.map(({ path }) => path)).toEqual(['config/settings.json', 'data/artifacts/61/note-0'])
  expect(skipped.first).toEqual([
    { name: 'data/artifacts/61/link', why: 'a symbolic link in place of an artifact' },
    { name: 'data/new-ledger', why: 'it does not belong to a home of Flotilla' },
    { name: 'thesis.txt', why: 'it does not belong to a home of Flotilla' },
  ])
})
