import { spawn, spawnSync } from 'node:child_process'
import * as fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { answerJson, startLoopbackServer } from '@flotilla/client/loopback-server'
import { buildNames, builtProgram, programNodeFlags } from '@flotilla/protocol/built-program'
import { beforeAll, expect, it } from 'vitest'
import { pinnedNode, repositoryRoot } from '../support/mesh-process.ts'

/**
 * Files that a short command may load; `runs` loaded 71 on 29 November 2026. Each new command that shares code with
 * others splits the shared files once more.
 */
const filesMax = 80

beforeAll(() => {
  if (buildNames.every((name) => builtProgram(fs, repositoryRoot, name) !== null)) return
  spawnSync(pinnedNode, [join(repositoryRoot, 'scripts', 'build-programs.ts')], { stdio: 'inherit' })
})

/** Each Node process that a command starts reports its id, its files and its built-in modules when it ends. */
const reporting = `
import { registerHooks } from 'node:module'
import { writeSync } from 'node:fs'
const files = []
registerHooks({ load: (url, context, next) => { if (url.startsWith('file:')) files.push(url); return next(url, context) } })
process.on('exit', () => writeSync(3, JSON.stringify({ pid: process.pid, files, builtins: process.moduleLoadList }) + '\\n'))
`

interface Report {
  readonly pid: number
  readonly files: readonly string[]
  readonly builtins: readonly string[]
}

it('a command that asks the mesh is one process that loads neither other commands nor the fetch of Node', async () => {
  await using mesh = await startLoopbackServer((_call, reply) =>
    answerJson(reply, 200, { runs: [], older: null }),
  )
  const folder = fs.mkdtempSync(join(tmpdir(), 'short-command-'))
  const programs = join(folder, 'programs')
  fs.mkdirSync(programs)
  // Another Node on the PATH must not be needed: this one fails.
  fs.writeFileSync(join(programs, 'node'), '#!/bin/sh\nexit 86\n', { mode: 0o755 })
  const child = spawn(join(repositoryRoot, 'bin', 'flotilla'), ['runs', '--url', mesh.url], {
    env: {
      HOME: folder,
      PATH: `${programs}:/usr/bin:/bin`,
      NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(reporting)}`,
    },
    stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
  })
  const reports = text(child.stdio[3] as NodeJS.ReadableStream)
  const said = text(child.stderr as NodeJS.ReadableStream)
  const code = await new Promise((resolve) => child.once('exit', resolve))

  expect({ code, said: await said }).toMatchObject({ code: 0 })
  const processes = (await reports)
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Report)
  expect(processes.map(({ pid }) => pid)).toEqual([child.pid])
  const { files = [], builtins = [] } = processes[0] ?? {}
  expect(files.length).toBeLessThanOrEqual(filesMax)
  expect(builtins).toContain('NativeModule _http_client')
  expect(builtins).not.toContain('NativeModule internal/deps/undici/undici')
  expect(mesh.calls.map(({ url }) => url)).toEqual([expect.stringMatching(/^\/api\/runs/)])
})

it('a command line in a checkout passes the flags of programs of this project', () => {
  const script = fs.readFileSync(join(repositoryRoot, 'bin', 'flotilla'), 'utf8')
  expect(/^flags='(.*)'$/m.exec(script)?.[1]?.split(' ')).toEqual(programNodeFlags)
})
