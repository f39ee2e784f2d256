import { execFileSync } from 'node:child_process'
import { createHmac } from 'node:crypto'
import { expect, it } from 'vitest'
import { signedExample } from './signed-event.ts'

it('the example signs its event as the mesh checks it, whatever the secret contains', () => {
  const secret = `it's "$HOME" and \\n`
  // `curl` is replaced by a function of the shell that prints what it would send.
  const lines = `curl() { printf '%s\\n' "$@"; }\n${signedExample('http://127.0.0.1/hook', secret)}`
  const sent = execFileSync('bash', ['-c', lines], { encoding: 'utf8' }).split('\n')
  const body = sent[sent.indexOf('--data-binary') + 1] ?? ''
  expect(JSON.parse(body)).toMatchObject({ event: 'test' })
  const signature = createHmac('sha256', secret).update(body).digest('hex')
  expect(sent).toContain(`x-webhook-signature: ${signature}`)
  expect(sent).toContain('http://127.0.0.1/hook')
})

it('the example names the secret only if the page shows it', () => {
  expect(signedExample('http://127.0.0.1/hook', null)).toContain("SECRET='the secret of the webhook'")
})
