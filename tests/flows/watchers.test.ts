import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import process from 'node:process'
import { watchApi, watchEndpoints } from '@flotilla/protocol/watch-api'
import { expect, it } from 'vitest'
import { aCassette, says } from '../support/cassettes.ts'
import { eventually } from '../support/eventually.ts'
import { flotilla } from '../support/flotilla-command.ts'
import { startMeshForTest } from '../support/mesh-process.ts'
import { verifies } from '../verifies.ts'

const isSoak = process.env['FLOTILLA_SOAK'] === '1'
/** Number of files in the folder before the mesh watches it. */
const oldFiles = isSoak ? 100_000 : 10_000

const cassette = aCassette({
  when: '^A file (\\S+) at (\\S+)$',
  turns: [says('I was told of {{name}}.', { capture: { name: '^A file (\\S+) at' } })],
})

it('a watched folder makes one run of each new file, also when the mesh is killed in between', async () => {
  verifies(
    'purpose:mesh:runs-file-watchers',
    'resources:file-watcher:file',
    'resources:file-watcher:top-level-key',
    'resources:file-watcher:path',
    'resources:file-watcher:pattern',
    'resources:file-watcher:agent',
    'resources:file-watcher:message',
    'resources:file-watcher:placeholder-filename',
    'resources:file-watcher:placeholder-filepath',
    'events:inbound:file-watcher',
    'events:file-watcher:first-scan-silent',
  )
  const mesh = await startMeshForTest({ cassettes: { watch: cassette } })
  await mesh.createWorker('scout')
  const inbox = join(mesh.home, 'inbox')
  const yaml = join(mesh.home, 'config', 'watchers.yaml')
  const put = (name: string) => writeFile(join(inbox, name), 'some text')
  const show = async () => watchApi.watchers.response.parse((await mesh.call(watchEndpoints.watchers)).json())
  const history = async () =>
    watchApi.watcherHistory.response.parse((await mesh.call(watchEndpoints.watcherHistory)).json()).fired
  const whole = `watchers:\n  - path: ${inbox}\n    pattern: "*.csv"\n    agent: scout\n    message: A file {filename} at {filepath}\n    when: size_bytes > 0\n`

  await mkdir(inbox)
  for (let file = 0; file < oldFiles; file++) await put(`old-${file}.csv`)
  await writeFile(yaml, whole)
  const first = await eventually('the folder was looked at', async () => {
    const view = await show()
    return view.watchers[0]?.files === oldFiles ? view : null
  })
  expect(first.watchers[0]).toMatchObject({ fired: 0, waiting: 0, trouble: null })

  // The second file does not match the pattern.
  await put('one.csv')
  await put('one.txt')
  await eventually('the file is noticed', async () => (await show()).watchers[0]?.waiting === 1)
  await mesh.kill9()
  await put('meanwhile.csv')
  await mesh.restart()
  await writeFile(yaml, 'watchers:\n  - path: [')
  await eventually('the broken file is told', async () => (await show()).broken !== null)
  await put('two.csv')
  const fired = await eventually('both runs end', async () => {
    const rows = await history()
    return rows.length >= 2 && rows.every(({ state }) => state === 'done') ? rows : null
  })
  expect(fired.toReversed().map(({ filepath, outcome }) => [filepath, outcome])).toEqual([
    [`${inbox}/one.csv`, 'I was told of one.csv.'],
    [`${inbox}/two.csv`, 'I was told of two.csv.'],
  ])
  const [run] = await mesh.runs()
  expect(run).toMatchObject({
    agent_id: 'scout',
    origin: { kind: 'watcher', channel: 'mesh', user: `${inbox}/*.csv` },
    input: { message: expect.stringContaining(`A file two.csv at ${inbox}/two.csv`) },
  })

  const broken = await flotilla(mesh, 'watchers', 'check')
  expect(broken).toMatchObject({ code: 1, out: expect.stringContaining('config/watchers.yaml line 2: ') })
  await writeFile(yaml, whole)
  // On a busy machine a check may run out of time and say so; the test then repeats it.
  await eventually('the check finds them all', async () =>
    (await flotilla(mesh, 'watchers', 'check')).out.includes(`matches ${oldFiles + 3} files now`),
  )
  expect((await flotilla(mesh, 'watchers', 'history')).out).toContain('I was told of two.csv.')
  const { polls, watchers } = await show()
  process.stdout.write(`watching ${oldFiles} files: a look took ${watchers[0]?.look_ms} ms\n`)
  if (isSoak) expect(polls.skipped).toBe(0)
})

it('a person watches a folder from the terminal, and the rest of the file stays as it is', async () => {
  const mesh = await startMeshForTest({})
  await mesh.createWorker('scout')
  const yaml = join(mesh.home, 'config', 'watchers.yaml')
  const before = '# of another hand\nwatchers:\n'
  const inbox = join(mesh.home, 'inbox')
  await mkdir(inbox)
  await writeFile(
    yaml,
    `${before}  - path: ${inbox}\n    pattern: "*.pdf"\n    agent: scout\n    message: A file\n`,
  )
  const add = ['watchers', 'add', 'scout', inbox, '--message', 'Read {filepath}']
  expect(await flotilla(mesh, ...add, '--pattern', '*.csv', '--when', 'size_bytes > 0')).toMatchObject({
    code: 0,
    out: expect.stringContaining(`${inbox}/*.csv is watched`),
  })
  expect((await flotilla(mesh, 'watchers')).out).toMatch(/\*\.pdf[\s\S]*\*\.csv/)
  const several = await flotilla(mesh, 'watchers', 'remove', inbox)
  expect(several).toMatchObject({
    code: 1,
    err: expect.stringContaining("--pattern '*.pdf', --pattern '*.csv'"),
  })
  expect((await flotilla(mesh, 'watchers', 'remove', inbox, '--pattern', '*.pdf')).code).toBe(0)
  expect((await flotilla(mesh, 'watchers', 'remove', '/nowhere')).err).toContain('/nowhere is not watched')
  const text = await readFile(yaml, 'utf8')
  expect(text).toContain('# of another hand')
  expect(text).toContain('*.csv')
  expect(text).not.toContain('*.pdf')
})
