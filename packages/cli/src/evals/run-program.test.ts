import { spawn } from 'node:child_process'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { text } from 'node:stream/consumers'
import { expect, test } from 'vitest'
import { runProgram } from './run-program.ts'

const asked = { input: '', folder: tmpdir(), timeoutMs: 5000, signal: new AbortController().signal }

test('a program that the system refuses at once fails with the reason', async () => {
  // An argument above 128 KiB: Node throws E2BIG as it throws ENOMEM.
  expect(await runProgram(`true ${'x'.repeat(200_000)}`, asked)).toMatch(/could not be run: .*E2BIG/)
})

test('a program that cannot be started for want of open files fails with the reason', async () => {
  const module = JSON.stringify(join(import.meta.dirname, 'run-program.ts'))
  const program = `import { openSync } from 'node:fs'
    import { runProgram } from ${module}
    const asked = { input: '', folder: '/', timeoutMs: 5000, signal: new AbortController().signal }
    await runProgram('true', asked)
    try { for (;;) openSync('/dev/null', 'r') } catch {}
    console.log(await runProgram('true', asked).catch((error) => 'rejects: ' + error))`
  const limited = [
    '-c',
    'ulimit -n 100; exec "$0" --input-type=module --eval "$1"',
    process.execPath,
    program,
  ]
  const child = spawn('sh', limited, { stdio: ['ignore', 'pipe', 'inherit'] })
  expect(await text(child.stdout)).toMatch(/^the program could not be run: .*EMFILE/)
})
