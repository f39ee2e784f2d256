import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { webhookEndpoints } from '@flotilla/protocol/webhook-api'
import { describe, expect, it, onTestFinished } from 'vitest'
import { aCassette, says } from '../support/cassettes.ts'
import { eventually } from '../support/eventually.ts'
import { startMeshOnOutput } from '../support/mesh-on-output.ts'
import type { MeshOnOutput } from '../support/mesh-on-output.ts'
import { canMount, smallDiskForTest } from '../support/small-disk.ts'

/** A home on a disk with free space: only the log cannot be written. */
async function aHome(): Promise<string> {
  const home = mkdtempSync(join(tmpdir(), 'flotilla-flow-'))
  onTestFinished(() => rmSync(home, { recursive: true, force: true, maxRetries: 5 }))
  for (const name of ['config', 'cassettes']) await mkdir(join(home, name))
  await writeFile(join(home, 'config', 'settings.json'), JSON.stringify({ default_model: 'scripted/log' }))
  await writeFile(join(home, 'cassettes', 'log.json'), JSON.stringify(aCassette({ turns: [says('Yes.')] })))
  return home
}

/** Writes this many log lines: a missing table makes each request an internal error. */
async function meetErrors(mesh: MeshOnOutput, home: string, times: number): Promise<void> {
  const rename = (from: string, to: string): void => {
    const ledger = new DatabaseSync(join(home, 'data', 'mesh.db'), { timeout: 5000 })
    ledger.exec(`ALTER TABLE ${from} RENAME TO ${to}`)
    ledger.close()
  }
  rename('webhooks', 'webhooks_away')
  for (let count = 0; count < times; count++)
    expect((await mesh.call(webhookEndpoints.webhooks)).status).toBe(500)
  rename('webhooks_away', 'webhooks')
}

describe('a mesh whose log cannot be written', () => {
  it.skipIf(!canMount)(
    'a mesh whose log cannot be written works on while the disk of its log is full, and says how many lines were lost',
    async () => {
      const disk = await smallDiskForTest({ sizeMb: 1 })
      const home = await aHome()
      const path = join(disk.folder, 'mesh.log')
      const file = openSync(path, 'a')
      const mesh = await startMeshOnOutput({ home, output: file })
      closeSync(file)
      disk.fill()
      await meetErrors(mesh, home, 5)
      expect((await mesh.ask('hello')).outcome?.text).toBe('Yes.')
      expect(mesh.isAlive()).toBe(true)
      await disk.drain()
      const lines = await eventually('the loss is told', () => {
        const all = readFileSync(path, 'utf8').split('\n')
        return all.some((line) => line.includes('"dropped":')) && all
      })
      expect(lines.find((line) => line.includes('"dropped":'))).toMatch(
        /dropped [1-9]\d* log lines: no space left/,
      )
      expect((await mesh.ask('hello')).outcome?.text).toBe('Yes.')
      const broken = lines.filter((line) => line.startsWith('{') && !line.endsWith('}'))
      expect(broken.length).toBeLessThanOrEqual(1)
    },
  )

  it('a mesh whose log cannot be written works on when the reader of its log has gone', async () => {
    const home = await aHome()
    const mesh = await startMeshOnOutput({ home, output: 'pipe' })
    mesh.child.stdout?.destroy()
    mesh.child.stderr?.destroy()
    await meetErrors(mesh, home, 5)
    expect((await mesh.ask('hello')).outcome?.text).toBe('Yes.')
    expect(mesh.isAlive()).toBe(true)
  })

  it('a mesh keeps working while the reader of its log is blocked, and later logs the number of lost lines', async () => {
    const home = await aHome()
    const mesh = await startMeshOnOutput({ home, output: 'pipe' })
    await meetErrors(mesh, home, 800)
    expect((await mesh.ask('hello')).outcome?.text).toBe('Yes.')
    const said: string[] = []
    mesh.child.stdout?.on('data', (piece: Buffer) => said.push(piece.toString()))
    await eventually('the loss is told', () => said.join('').includes('the reader of the log is too slow'))
    expect(mesh.isAlive()).toBe(true)
  })
})
