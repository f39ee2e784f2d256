import { spawn } from 'node:child_process'
import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { pinnedNode } from '../support/mesh-process.ts'
import { engineOfThisMachine, withEngine } from './sandbox-lane.ts'
import { cliProgram } from '../support/programs.ts'

const found = await engineOfThisMachine()
/** Without root the mesh sets the rules from a container, and programs of the host cannot interfere. */
const setsRulesItself = process.getuid?.() === 0

let folder = ''
async function prepare(): Promise<void> {
  folder = await mkdtemp(join(tmpdir(), 'flotilla-rules-'))
  const silent = join(folder, 'bin', 'iptables')
  await mkdir(join(folder, 'bin'))
  await writeFile(silent, '#!/bin/sh\n[ "$1" = --version ]\n')
  await chmod(silent, 0o755)
}
async function cleanUp(): Promise<void> {
  await flotilla('reset', '-y')
  await rm(folder, { recursive: true, force: true })
}

async function flotilla(...words: readonly string[]): Promise<{ code: number; err: string }> {
  const path = process.env['PATH'] ?? '/usr/sbin:/usr/bin:/sbin:/bin'
  const child = spawn(pinnedNode, [cliProgram, ...words, '--home', join(folder, 'home')], {
    env: {
      ...process.env,
      PATH: words[0] === 'start' ? `${join(folder, 'bin')}:${path}` : path,
      FLOTILLA_PORT: '0',
    },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const ended = new Promise<number>((resolve) => child.once('exit', (code) => resolve(code ?? -1)))
  const [code, err] = await Promise.all([ended, text(child.stderr)])
  return { code, err }
}

withEngine(
  'rules of the network',
  () => {
    beforeAll(prepare)
    afterAll(cleanUp)
    it.runIf(setsRulesItself)(
      'rules that a program fails to set without output abort the start with the exit code and the repair',
      async () => {
        const { code, err } = await flotilla('start', '-d', '--runtime', 'docker')
        expect(code).toBe(1)
        expect(err).toContain(
          'could not be set (iptables): the command ended with exit code 1 without output',
        )
        expect(err).toContain('code network-rules-failed')
        const next = err.split(/^ {2}next /m)[1] ?? ''
        expect(next).toContain('apt-get install -y iptables')
        expect(next).toMatch(/flotilla --home \S+ doctor tells/)
        expect(err).not.toContain('Repair:')
      },
    )
  },
  found,
)
