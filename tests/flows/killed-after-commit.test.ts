import { existsSync } from 'node:fs'
import { mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, it } from 'vitest'
import { aCassette, calls, says } from '../support/cassettes.ts'
import { eventually } from '../support/eventually.ts'
import { flotilla } from '../support/flotilla-command.ts'
import { openLedger } from '../support/ledger-view.ts'
import { repositoryRoot, startMeshForTest } from '../support/mesh-process.ts'

const preload = pathToFileURL(join(repositoryRoot, 'tests', 'support', 'kill-after-commit.mjs')).href

const cassette = aCassette(
  {
    agents: ['left'],
    when: '^write$',
    turns: [
      calls('write_blackboard', { key: 'output/n', value: 7 }),
      says('version {{version}}', { capture: { version: '"version": (\\d+)' } }),
    ],
  },
  {
    agents: ['left'],
    when: '^publish$',
    turns: [
      calls('publish_signal', { topic: 'news', text: 'Rain.' }),
      says('{{id}}', { capture: { id: '(sig_\\w+)' } }),
    ],
  },
)

it('an agent’s write and signal are there once when the mesh is killed before it could answer', async () => {
  const arm = join(await mkdtemp(join(tmpdir(), 'arm-')), 'armed')
  const mesh = await startMeshForTest({
    cassettes: { killed: cassette },
    environment: { NODE_OPTIONS: `--import=${preload}`, KILL_WHEN_ARMED: arm },
  })
  await mesh.createWorker('left')
  const home = { url: mesh.url, home: mesh.home }
  expect(await flotilla(home, 'permissions', 'set', 'left', 'can_publish=news')).toMatchObject({ code: 0 })
  for (const [message, answer] of [
    ['write', 'version 1'],
    ['publish', expect.stringContaining('sig_')],
  ] as const) {
    // The agent already exists, so the next commit belongs to its call.
    await writeFile(arm, '')
    const run = await mesh.submit(message, { agent: 'left', key: message })
    await eventually('the mesh is killed', async () => !existsSync(arm) || null)
    await mesh.kill9().catch(() => undefined)
    await mesh.restart()
    expect((await mesh.ended(run)).outcome).toMatchObject({ status: 'done', text: answer })
  }
  const ledger = openLedger(mesh.home)
  try {
    expect(ledger.rows('SELECT version FROM blackboard')).toMatchObject([{ version: 1 }])
    expect(ledger.rows('SELECT text FROM topic_signals')).toHaveLength(1)
  } finally {
    ledger.close()
  }
})
