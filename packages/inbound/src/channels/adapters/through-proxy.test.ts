import { afterEach, expect, test, vi } from 'vitest'
import { startConnectProxy } from '../../../../../tests/support/connect-proxy.ts'
import { discordToken, startDiscordServer } from '../../../../../tests/support/discord-server.ts'
import { slackTokens, startSlackWorkspace } from '../../../../../tests/support/slack-workspace.ts'
import { readProxies } from '../../../../foundation/src/config/proxy-environment.ts'
import { createSecret } from '../../../../egress/src/credentials/index.ts'
import { systemClock } from '../../../../foundation/src/platform/index.ts'
import type { OutboundProxies } from '../../../../foundation/src/platform/index.ts'
import { startFakeTelegram } from '../../../../testing/src/fake-telegram.ts'
import { fakeWhatsApp, startFakeGraph } from '../../../../testing/src/fake-whatsapp.ts'
import { recordReceived } from '../../../../testing/src/record-received.ts'
import type { ChannelAdapter, ChannelState } from '../adapter.ts'
import { createCheckTokens } from './check-tokens.ts'
import { createDiscordAdapter } from './discord/index.ts'
import { createSlackAdapter } from './slack/index.ts'
import { createTelegramAdapter } from './telegram/index.ts'
import { createWebhookChannel } from './webhook/index.ts'
import { createWhatsAppAdapter } from './whatsapp/index.ts'

const closing: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close()
})

const never = new AbortController().signal
const commands = [] as const
const menu = [] as const
const soon = { timeout: 10_000 }
const secretText = `whsec_${Buffer.alloc(32, 1).toString('base64')}`

/** The fake platforms are on loopback, which proxy rules normally exempt; the rules of this test exempt nothing. */
async function aProxy() {
  const proxy = await startConnectProxy()
  const known = readProxies({ ALL_PROXY: proxy.url }).of(new URL('https://anywhere.test'))
  closing.push(proxy.close)
  const proxies: OutboundProxies = { of: () => known }
  return { proxy, proxies }
}

const targetOf = (root: string) => `CONNECT ${new URL(root).host}`

const platforms: Readonly<
  Record<string, (proxies: OutboundProxies) => Promise<{ adapter: ChannelAdapter; root: string }>>
> = {
  Telegram: async (proxies) => {
    const { root, close } = await startFakeTelegram()
    closing.push(close)
    const token = createSecret('telegram_bot_token', '777:secret-part')
    return {
      root,
      adapter: createTelegramAdapter({ token, clock: systemClock, proxies, menu, apiRoot: root }),
    }
  },
  WhatsApp: async (proxies) => {
    const { root, close } = await startFakeGraph()
    closing.push(close)
    const { phoneNumberId, appSecret } = fakeWhatsApp
    const adapter = createWhatsAppAdapter({
      accessToken: createSecret('whatsapp_access_token', 'access-token'),
      appSecret: createSecret('whatsapp_app_secret', appSecret),
      verifyToken: createSecret('whatsapp_verify_token', 'verify-me'),
      phoneNumberId,
      proxies,
      clock: systemClock,
      graphRoot: root,
    })
    return { root, adapter }
  },
  'the live connection of Slack': async (proxies) => {
    const workspace = await startSlackWorkspace()
    closing.push(workspace.close)
    const adapter = createSlackAdapter({
      botToken: createSecret('slack_bot_token', slackTokens.bot),
      appToken: createSecret('slack_app_token', slackTokens.app),
      clock: systemClock,
      proxies,
      apiUrl: workspace.apiUrl,
      fetch: workspace.fetch,
    })
    return { root: workspace.apiUrl, adapter }
  },
  'the live connection of Discord': async (proxies) => {
    const server = await startDiscordServer()
    closing.push(server.close)
    const token = createSecret('discord_bot_token', discordToken)
    const { api, fetch } = server
    const adapter = createDiscordAdapter({ token, clock: systemClock, proxies, commands, api, fetch })
    return { root: api, adapter }
  },
}

test.each(Object.keys(platforms))('%s goes through the proxy, which sees nothing else', async (name) => {
  const { proxy, proxies } = await aProxy()
  const { adapter, root } = await platforms[name]!(proxies)
  closing.push(adapter.close)
  const { states, starting } = recordReceived(adapter)
  await starting
  await vi.waitFor(() => expect(states.at(-1)?.state).toBe('connected'), soon)
  expect(proxy.asked.length).toBeGreaterThan(0)
  expect(new Set(proxy.asked)).toEqual(new Set([targetOf(root)]))
})

test.each(Object.keys(platforms))('%s names a proxy that is down', async (name) => {
  const { proxy, proxies } = await aProxy()
  await proxy.close()
  const { adapter } = await platforms[name]!(proxies)
  closing.push(adapter.close)
  const { states } = recordReceived(adapter)
  const words = expect.stringContaining(`the proxy ${proxy.url} does not answer (ECONNREFUSED)`) as unknown
  await vi.waitFor(() => {
    const told: readonly ChannelState[] = states
    expect(told).toContainEqual(expect.objectContaining({ detail: words }))
  }, soon)
})

test('Discord connects again through the proxy after a break', async () => {
  const { proxy, proxies } = await aProxy()
  const server = await startDiscordServer()
  closing.push(server.close)
  const token = createSecret('discord_bot_token', discordToken)
  const { api, fetch } = server
  const adapter = createDiscordAdapter({ token, clock: systemClock, proxies, commands, api, fetch })
  closing.push(adapter.close)
  await recordReceived(adapter).starting
  server.drop()
  await vi.waitFor(() => expect(server.connections()).toBe(2), soon)
  expect(proxy.asked).toHaveLength(2)
})

test('files of the webhook channel and the check of a token go through the proxy', async () => {
  const { proxy, proxies } = await aProxy()
  const telegram = await startFakeTelegram()
  closing.push(telegram.close)
  const { root } = telegram
  const check = createCheckTokens(
    () => ({ telegram: root, discord: root, slack: root, whatsapp: root }),
    proxies,
  )
  await check('telegram', { telegram_bot_token: '777:secret-part' }, never)
  expect(proxy.asked).toEqual([targetOf(root)])

  const webhook = createWebhookChannel({
    secret: createSecret('channel_webhook_secret', secretText),
    url: root,
    proxies,
    clock: systemClock,
  })
  closing.push(webhook.close)
  await webhook.download?.(`${root}/file`, 10, never).catch(() => undefined)
  expect(proxy.asked).toEqual([targetOf(root), targetOf(root)])
})
