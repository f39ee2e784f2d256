import { execFile } from 'node:child_process'
import { createHmac } from 'node:crypto'
import { promisify } from 'node:util'

const run = promisify(execFile)

/** Posts to a webhook as an external system does, signed with its secret. */
export async function fireHook(url: string, secret: string, body: string): Promise<string> {
  const signature = createHmac('sha256', secret).update(body).digest('hex')
  const { stdout } = await run('curl', [
    '--silent',
    '--show-error',
    '--write-out',
    ' %{http_code}',
    '--header',
    'content-type: application/json',
    '--header',
    `x-webhook-signature: ${signature}`,
    '--data-binary',
    body,
    url,
  ])
  return stdout
}
