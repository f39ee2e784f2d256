import { createHmac } from 'node:crypto'
import { createServer } from 'node:http'
import type { IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { ChannelName } from '@flotilla/protocol/people'
import { afterEach, describe, expect, test } from 'vitest'
import { noProxies } from '../../../../foundation/src/config/index.ts'
import { createCheckTokens } from './check-tokens.ts'

const never = new AbortController().signal
const closing: (() => void)[] = []
afterEach(() => {
  for (const close of closing.splice(0)) close()
})

interface Answer {
  readonly status: number
  readonly body: object | string
}

/** All four platforms at one address. `answer` defines their responses. */
async function aPlatform(answer: (request: IncomingMessage) => Answer) {
  const requests: string[] = []
  const server = createServer((request, response) => {
    requests.push(`${request.method} ${request.url} ${request.headers.authorization ?? ''}`.trim())
    const { status, body } = answer(request)
    response
      .writeHead(status, { 'content-type': 'application/json' })
      .end(typeof body === 'string' ? body : JSON.stringify(body))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  closing.push(() => {
    server.closeAllConnections()
    server.close()
  })
  const root = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const check = createCheckTokens(
    () => ({ telegram: root, discord: root, slack: root, whatsapp: root }),
    noProxies,
  )
  return { asked: requests, check, root }
}

const values = {
  telegram: { telegram_bot_token: '777:secret-part' },
  discord: { discord_bot_token: 'secret.discord' },
  slack: { slack_bot_token: 'xoxb-secret', slack_app_token: 'xapp-secret' },
  whatsapp: {
    whatsapp_access_token: 'EAAsecret',
    whatsapp_phone_number_id: '106540352242922',
    whatsapp_app_secret: '0123456789abcdef0123456789abcdef',
    whatsapp_verify_token: 'word',
  },
} as const
const proof = createHmac('sha256', values.whatsapp.whatsapp_app_secret).update('EAAsecret').digest('hex')

const known: Readonly<Record<keyof typeof values, object>> = {
  telegram: { ok: true, result: { id: 7, is_bot: true, username: 'fleet_bot' } },
  discord: { id: '7', username: 'fleet' },
  slack: { ok: true, team: 'Acme', url: 'wss://example.invalid' },
  whatsapp: { id: '106540352242922', display_phone_number: '+1 555-0100' },
}
const refusals: Readonly<Record<keyof typeof values, Answer>> = {
  telegram: { status: 404, body: { ok: false, error_code: 404, description: 'Not Found' } },
  discord: { status: 401, body: { message: '401: Unauthorized', code: 0 } },
  slack: { status: 200, body: { ok: false, error: 'invalid_auth' } },
  whatsapp: {
    status: 400,
    body: { error: { message: 'Invalid appsecret_proof provided in the API argument', code: 100 } },
  },
}
const names = Object.keys(values) as (keyof typeof values)[]

describe('verifying the tokens of a channel', () => {
  test.each([
    ['telegram', '@fleet_bot', ['GET /bot777:secret-part/getMe']],
    ['discord', 'fleet', ['GET /v10/users/@me Bot secret.discord']],
    [
      'slack',
      'Acme',
      ['POST /auth.test Bearer xoxb-secret', 'POST /apps.connections.open Bearer xapp-secret'],
    ],
    [
      'whatsapp',
      '+1 555-0100',
      [`GET /106540352242922?fields=display_phone_number&appsecret_proof=${proof} Bearer EAAsecret`],
    ],
  ] as const)('the account of the token is requested from %s', async (name, account, asked) => {
    const platform = await aPlatform(() => ({ status: 200, body: known[name] }))
    expect(await platform.check(name, values[name], never)).toBe(account)
    expect(platform.asked).toEqual(asked)
  })

  test.each(names)('an unknown token of %s is reported and never shown', async (name) => {
    const { check } = await aPlatform(() => refusals[name])
    const error: unknown = await check(name, values[name], never).catch((reason: unknown) => reason)
    expect(error).toMatchObject({
      code: 'unprocessable',
      repair: expect.stringContaining('Nothing was stored'),
    })
    expect(JSON.stringify(error) + String(error)).not.toMatch(
      /secret-part|secret\.discord|xoxb|xapp|EAA|0123456789/,
    )
  })

  test.each(names)('a malformed or missing response of %s is not a rejection', async (name) => {
    const strange = await aPlatform(() => ({ status: 502, body: '<html>' }))
    await expect(strange.check(name, values[name], never)).rejects.toMatchObject({ code: 'upstream-failed' })
    const nowhere = () => 'http://127.0.0.1:9'
    const roots = { telegram: nowhere(), discord: nowhere(), slack: nowhere(), whatsapp: nowhere() }
    await expect(createCheckTokens(() => roots, noProxies)(name, values[name], never)).rejects.toMatchObject({
      code: 'upstream-failed',
      detail: expect.stringContaining('127.0.0.1:9'),
    })
  })

  test('a response above the limit is not read to its end', async () => {
    const { check } = await aPlatform(() => ({ status: 200, body: 'x'.repeat(1_000_000) }))
    await expect(check('telegram', values.telegram, never)).rejects.toMatchObject({ code: 'upstream-failed' })
  })

  test('an account name from a platform cannot contain terminal control characters', async () => {
    const { check } = await aPlatform(() => ({ status: 200, body: { username: 'a\u001B[2J\u202Eb' } }))
    expect(await check('discord', values.discord, never)).toBe('a[2Jb')
  })

  test('an aborted verification rejects', async () => {
    const { check } = await aPlatform(() => ({ status: 200, body: known.discord }))
    const gone = AbortSignal.abort(new Error('gone'))
    await expect(check('discord', values.discord, gone)).rejects.toThrow('gone')
  })

  test.each([
    ['whsec_AAAA', 'unprocessable'],
    [`whsec_${Buffer.alloc(32, 1).toString('base64')}`, null],
  ])('the secret of the webhook channel is validated: %s', async (secret, code) => {
    const name: ChannelName = 'webhook'
    const checking = createCheckTokens(() => {
      throw new Error('this test makes no requests')
    }, noProxies)(name, { channel_webhook_secret: secret }, never)
    if (code === null) await expect(checking).resolves.toBe('')
    else await expect(checking).rejects.toMatchObject({ code })
  })
})
