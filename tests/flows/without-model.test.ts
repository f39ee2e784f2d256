import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { aCassette, says } from '../support/cassettes.ts'
import { eventually } from '../support/eventually.ts'
import { flotilla } from '../support/flotilla-command.ts'
import { startMeshForTest } from '../support/mesh-process.ts'

it('a tool is put to work in a fleet that has no model and no key, and talk is refused with what to set until there is one', async () => {
  const mesh = await startMeshForTest()
  await mesh.createWorker('hand')
  const at = { url: mesh.url, home: mesh.home }
  const invoke = () => flotilla(at, 'invoke', 'hand', 'run_command', '{"command":"echo done by $((6 * 7))"}')

  expect(await invoke()).toMatchObject({ code: 0, out: expect.stringContaining('done by 42') as unknown })
  const pid = (await mesh.agentProcesses())[0]?.pid
  expect(await invoke()).toMatchObject({ code: 0 })
  expect((await mesh.agentProcesses())[0]?.pid).toBe(pid)

  const refused = await mesh.ask('hello', { agent: 'hand' })
  expect(refused.outcome).toMatchObject({ status: 'failed', code: 'not-configured' })
  expect(refused.outcome?.text).toContain('default_model')

  // A restarted mesh adopts the same agent process, and knows that it has no model.
  await mesh.kill9()
  await mesh.restart()
  expect(await flotilla({ url: mesh.url, home: mesh.home }, 'invoke', 'hand', 'list_files')).toMatchObject({
    code: 0,
  })
  expect((await mesh.agentProcesses())[0]?.pid).toBe(pid)
  expect((await mesh.ask('hello', { agent: 'hand' })).outcome).toMatchObject({ code: 'not-configured' })

  await writeFile(
    join(mesh.home, 'cassettes', 'talk.json'),
    JSON.stringify(aCassette({ turns: [says('Hello to you.')] })),
  )
  const file = join(mesh.home, 'config', 'settings.json')
  const settings = JSON.parse(await readFile(file, 'utf8')) as object
  await writeFile(file, JSON.stringify({ ...settings, default_model: 'scripted/talk' }))
  const answered = await eventually('the settings are read', async () => {
    const run = await mesh.ask('hello', { agent: 'hand' })
    return run.outcome?.status === 'done' ? run : null
  })
  expect(answered.outcome?.text).toBe('Hello to you.')
})
