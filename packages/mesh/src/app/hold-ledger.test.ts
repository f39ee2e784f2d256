import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { dataPaths, readEnvironment } from '../../../foundation/src/config/index.ts'
import { silentLog } from '../../../foundation/src/platform/index.ts'
import { holdLedger } from './hold-ledger.ts'

function parts(runtime: string, pid: number) {
  const home = mkdtempSync(join(tmpdir(), 'hold-ledger-'))
  onTestFinished(() => rmSync(home, { recursive: true }))
  const env = { FLOTILLA_HOME: home, FLOTILLA_RUNTIME: runtime }
  const context = {
    environment: readEnvironment(env),
    env,
    print: () => {},
    stopped: new AbortController().signal,
    uid: 0,
    pid,
    program: ['node'] as const,
    repositoryRoot: '',
  }
  return { context, homeId: 'home', paths: dataPaths(home), log: silentLog }
}

test('agents of this machine need no lease', async () => {
  expect(await holdLedger(parts('process', 1))).toBeNull()
  expect(await holdLedger(parts('docker', 1))).toBeNull()
})

test('a mesh that cannot terminate itself gets no lease', async () => {
  await expect(holdLedger(parts('kubernetes', 1))).rejects.toMatchObject({ code: 'conflict' })
})
