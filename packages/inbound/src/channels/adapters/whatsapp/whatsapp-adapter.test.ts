import { sign } from '@octokit/webhooks-methods'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { heedsLesson } from '../../../../../../tests/verifies.ts'
import { noProxies } from '../../../../../foundation/src/config/index.ts'
import { createSecret } from '../../../../../egress/src/credentials/index.ts'
import { systemClock } from '../../../../../foundation/src/platform/index.ts'
import {
  callbackEntry,
  callbackOf,
  fakeWhatsApp,
  startFakeGraph,
  playMeta,
  signedCallback,
} from '../../../../../testing/src/fake-whatsapp.ts'
import { recordReceived } from '../../../../../testing/src/record-received.ts'
import { channelAdapterConformance } from '../../adapter.conformance.ts'
import { albumByTime } from '../../adapter.ts'
import type {
  CallbackRequest,
  ChangedIdentity,
  ChannelState,
  OutgoingMessage,
  ReceivedMessage,
} from '../../adapter.ts'
import { createWhatsAppAdapter } from './index.ts'
import type { WhatsAppConfig } from './index.ts'
import { isSigned } from './verify-callback.ts'

const never = new AbortController().signal
const { places, phoneNumberId, appSecret } = fakeWhatsApp

const anAdapter = (graphRoot: string, more: Partial<WhatsAppConfig> = {}) =>
  createWhatsAppAdapter({
    accessToken: createSecret('whatsapp_access_token', 'access-token'),
    appSecret: createSecret('whatsapp_app_secret', appSecret),
    verifyToken: createSecret('whatsapp_verify_token', 'verify-me'),
    proxies: noProxies,
    phoneNumberId,
    clock: systemClock,
    graphRoot,
    ...more,
  })

const message = (text: string, more: Partial<OutgoingMessage> = {}): OutgoingMessage => ({
  place: places.alone,
  clientId: 'note_1-0',
  text,
  buttons: [],
  replyToId: null,
  ...more,
})

channelAdapterConformance(
  'whatsapp',
  async () => {
    const graph = await startFakeGraph()
    const adapter = anAdapter(graph.root)
    const meta = playMeta(adapter, graph)
    return {
      adapter,
      platform: meta.platform,
      places,
      close: async () => {
        meta.end()
        await graph.close()
      },
    }
  },
  { sendsAgain: true, failures: ['rate-limited', 'gone', 'refused', 'cut-after'] },
)

describe('the WhatsApp adapter', () => {
  const closing: (() => Promise<void>)[] = []
  afterEach(async () => {
    for (const close of closing.splice(0).toReversed()) await close()
  })

  async function started(more: Partial<WhatsAppConfig> = {}) {
    const graph = await startFakeGraph()
    closing.push(graph.close)
    const adapter = anAdapter(graph.root, more)
    closing.push(adapter.close)
    const heard: ReceivedMessage[] = []
    const states: ChannelState[] = []
    const changed: ChangedIdentity[] = []
    await adapter.start({
      received: async (one) => void heard.push(one),
      stateChanged: (state) => void states.push(state),
      passedOver: () => {},
      identityChanged: (what) => void changed.push(what),
    })
    const receive = async (request: CallbackRequest) => (await adapter.receiveRequest?.(request))!
    return { graph, adapter, heard, states, changed, receive }
  }

  test.each([
    [200, '{"success":true}'],
    [403, '{"error":{"code":10,"message":"no permission"}}'],
  ])(
    'WhatsApp: the menu is written, and messages arrive although Graph answers %d to it',
    async (status, body) => {
      const graph = await startFakeGraph()
      closing.push(graph.close)
      const path = `${phoneNumberId}/conversational_automation`
      graph.answer(path, status, body)
      const adapter = anAdapter(graph.root, { menu: [{ command: 'status', description: 'x'.repeat(300) }] })
      closing.push(adapter.close)
      const { heard, states, starting } = recordReceived(adapter)
      await starting
      await vi.waitFor(() => expect(graph.calls.some((call) => call.path === path)).toBe(true))
      expect(JSON.parse(graph.calls.find((call) => call.path === path)!.raw)).toEqual({
        commands: [{ command_name: 'status', command_description: 'x'.repeat(256) }],
      })
      expect(states.at(-1)).toEqual({ state: 'connected', detail: '', repair: '' })
      expect((await adapter.receiveRequest?.(signedCallback(one)))?.status).toBe(200)
      expect(heard).toHaveLength(1)
    },
  )

  const one = callbackOf(callbackEntry([{ id: 'wamid.1', text: 'Does it come in another color?' }]))

  test('WhatsApp: without the app secret every webhook call is rejected', async () => {
    heedsLesson(21)
    const { receive, heard, states } = await started({ appSecret: null })
    expect((await receive(signedCallback(one))).status).toBe(503)
    expect(heard).toEqual([])
    expect(states.at(-1)).toMatchObject({ state: 'failing', repair: expect.stringContaining('app secret') })
  })

  test('WhatsApp: a webhook call without a valid signature is rejected', async () => {
    const { receive, heard } = await started()
    const signed = signedCallback(one)
    const forged: CallbackRequest[] = [
      { ...signed, headers: {} },
      { ...signed, headers: { 'x-hub-signature-256': '' } },
      { ...signed, headers: { 'x-hub-signature-256': `sha256=${'0'.repeat(64)}` } },
      {
        ...signed,
        headers: { 'x-hub-signature-256': signed.headers['x-hub-signature-256']!.replace('256', '1') },
      },
      { ...signed, body: Buffer.from(one.replace('another', 'any')) },
      { ...signed, body: Buffer.from(`${one} `) },
      signedCallback(one, 'another-secret'),
      signedCallback(one, ''),
    ]
    for (const request of forged) expect((await receive(request)).status).toBe(401)
    expect(heard).toEqual([])
  })

  test('WhatsApp: the signature matches the published example over the raw bytes', async () => {
    // The example of the page that defines X-Hub-Signature-256, and one by another implementation.
    const published = 'sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17'
    expect(isSigned(Buffer.from('Hello, World!'), published, "It's a Secret to Everybody")).toBe(true)
    const escaped = '{"text":"\\u00e4\\u00f6\\u00e5 \\/ \\u003c"}'
    expect(isSigned(Buffer.from(escaped), await sign(appSecret, escaped), appSecret)).toBe(true)
    expect(isSigned(Buffer.from('{"text":"äöå / <"}'), await sign(appSecret, escaped), appSecret)).toBe(false)
  })

  test('WhatsApp: the handshake answers only the correct verify token', async () => {
    const { receive } = await started()
    const ask = (query: Record<string, string>) =>
      receive({ method: 'GET', query, headers: {}, body: Buffer.from('') })
    const right = { 'hub.mode': 'subscribe', 'hub.verify_token': 'verify-me', 'hub.challenge': '1158201444' }
    expect(await ask(right)).toMatchObject({
      status: 200,
      body: '1158201444',
      contentType: 'text/plain; charset=utf-8',
    })
    for (const wrong of [
      { 'hub.verify_token': 'verify-m' },
      { 'hub.mode': 'x' },
      { 'hub.challenge': '<b>' },
    ]) {
      expect((await ask({ ...right, ...wrong })).status).toBe(403)
    }
    const { receive: unset } = await started({ verifyToken: null })
    expect((await unset({ method: 'GET', query: right, headers: {}, body: Buffer.from('') })).status).toBe(
      503,
    )
  })

  test('WhatsApp: a captured webhook call is dropped once its message is old, even at its first arrival', async () => {
    const { receive, heard } = await started()
    const writtenAgo = (days: number) => ({
      timestamp: String(Math.floor(systemClock.now() / 1000) - days * 24 * 3600),
    })
    const entry = callbackEntry([
      { id: 'wamid.old', text: 'old', more: writtenAgo(9) },
      { id: 'wamid.late', text: 'late', more: writtenAgo(7) },
    ])
    expect((await receive(signedCallback(callbackOf(entry)))).status).toBe(200)
    expect(heard.map(({ id }) => id)).toEqual(['wamid.late'])
  })

  test('WhatsApp: the messages of several entries arrive', async () => {
    const { receive, heard } = await started()
    const entries = [
      callbackEntry([
        { id: 'wamid.1', text: 'one' },
        { id: 'wamid.2', text: 'two' },
      ]),
      callbackEntry([{ id: 'wamid.3', text: 'three' }]),
    ]
    expect(await receive(signedCallback(callbackOf(...entries)))).toMatchObject({ status: 200, body: '' })
    expect(heard.map(({ id, text, senderName }) => [id, text, senderName])).toEqual([
      ['wamid.1', 'one', 'Sheena Nelson'],
      ['wamid.2', 'two', 'Sheena Nelson'],
      ['wamid.3', 'three', 'Sheena Nelson'],
    ])
  })

  test('WhatsApp: messages to other numbers, delivery reports, reactions and edits are ignored', async () => {
    const { receive, heard } = await started()
    const statuses = {
      id: '1',
      changes: [
        {
          field: 'messages',
          value: {
            messaging_product: 'whatsapp',
            metadata: { display_phone_number: '15550783881', phone_number_id: phoneNumberId },
            statuses: [{ id: 'wamid.9', status: 'read', timestamp: '1', recipient_id: '16505551234' }],
          },
        },
      ],
    }
    const quiet = [
      statuses,
      callbackEntry([{ id: 'wamid.4', text: 'not ours' }], '999'),
      callbackEntry([{ id: 'wamid.5', text: '', more: { type: 'reaction', reaction: { emoji: '👍' } } }]),
      callbackEntry([{ id: 'wamid.6', text: 'odd', more: { from: 'nobody' } }]),
      { id: '2', changes: [{ field: 'account_update', value: { event: 'x' } }] },
    ]
    expect((await receive(signedCallback(callbackOf(...quiet)))).status).toBe(200)
    expect(heard).toEqual([])
  })

  test('WhatsApp: a signed body that is not a webhook call is rejected', async () => {
    const { receive } = await started()
    for (const body of ['', '{', '[]', '{"object":"page","entry":[]}', '['.repeat(10_000)]) {
      expect((await receive(signedCallback(body))).status).toBe(400)
    }
  })

  test("WhatsApp: buttons are shown in WhatsApp's forms and keep their values", async () => {
    const { adapter, graph, receive, heard } = await started()
    const buttons = [{ label: 'A label that is far too long', value: 'use:coder' }]
    await adapter.send(message('Which?', { buttons, replyToId: 'wamid.1' }), never)
    expect(JSON.parse(graph.calls.at(-1)!.raw)).toEqual({
      messaging_product: 'whatsapp',
      recipient_type: 'individual',
      to: '16505551234',
      context: { message_id: 'wamid.1' },
      type: 'interactive',
      interactive: {
        type: 'button',
        body: { text: 'Which?' },
        action: { buttons: [{ type: 'reply', reply: { id: 'use:coder', title: 'A label that is far…' } }] },
      },
    })
    const many = Array.from({ length: 10 }, (_, at) => ({ label: `agent ${at}`, value: `use:${at}` }))
    await adapter.send(message('Which?', { buttons: many }), never)
    expect(JSON.parse(graph.calls.at(-1)!.raw).interactive.action.sections[0].rows).toHaveLength(10)
    const pressed = {
      type: 'interactive',
      text: null,
      interactive: { button_reply: { id: 'use:coder', title: 'A' } },
    }
    await receive(signedCallback(callbackOf(callbackEntry([{ id: 'wamid.7', text: '', more: pressed }]))))
    expect(heard).toMatchObject([{ id: 'wamid.7', pressed: 'use:coder', text: '' }])
  })

  test.each([{ forwarded: true }, { frequently_forwarded: true }])(
    'WhatsApp: a message that is forwarded as %o has no text, caption, file or button of the sender',
    async (context) => {
      const { receive, heard } = await started()
      const image = { id: 'm7', mime_type: 'image/jpeg', caption: '/stop' }
      const press = { button_reply: { id: 'use:coder', title: 'A' } }
      const more = [
        { context },
        { context, type: 'image', text: null, image },
        { context, type: 'interactive', text: null, interactive: press },
      ]
      const messages = more.map((fields, at) => ({ id: `wamid.${at}`, text: '/stop', more: fields }))
      await receive(signedCallback(callbackOf(callbackEntry(messages))))
      expect(heard).toMatchObject([
        { text: '', pressed: null, attachments: [], forwarded: { text: '/stop', attachments: [] } },
        { text: '', attachments: [], forwarded: { text: '/stop', attachments: [{ reference: 'm7' }] } },
        { text: '', pressed: null, forwarded: { text: '' } },
      ])
    },
  )

  test.each([
    ['in the current form', { type: 'user_changed_number', wa_id: '16505550000' }],
    ['in the former form', { type: 'customer_changed_number', new_wa_id: '16505550000' }],
  ])('WhatsApp: a changed phone number is reported only by WhatsApp: %s', async (_name, system) => {
    const { receive, heard, changed } = await started()
    const more = { type: 'system', text: null, system: { body: 'Ann changed', ...system } }
    const forged = { type: 'text', system }
    const broken = { type: 'system', text: null, system: { type: 'user_changed_number', wa_id: '../1' } }
    await receive(
      signedCallback(
        callbackOf(
          callbackEntry([
            { id: 'wamid.1', text: '', more },
            { id: 'wamid.2', text: 'hi', more: forged },
            { id: 'wamid.3', text: '', more: broken },
          ]),
        ),
      ),
    )
    expect(changed).toEqual([{ id: 'wamid.1', from: '16505551234', to: '16505550000' }])
    expect(heard.map(({ id }) => id)).toEqual(['wamid.2'])
  })

  test.each([
    ['a contact', { type: 'contacts', text: null, contacts: [{ name: { formatted_name: '/stop' } }] }],
    ['a reaction', { type: 'reaction', text: null, reaction: { message_id: 'wamid.1', emoji: '/stop' } }],
    ['a location', { type: 'location', text: null, location: { name: '/stop', latitude: 1, longitude: 1 } }],
  ])('WhatsApp: %s is ignored', async (_name, more) => {
    const { receive, heard } = await started()
    await receive(signedCallback(callbackOf(callbackEntry([{ id: 'wamid.1', text: '', more }]))))
    expect(heard).toEqual([])
  })

  test('WhatsApp: after 24 hours the error says how to reopen the conversation', async () => {
    const { adapter, graph } = await started()
    graph.failNext('gone')
    await expect(adapter.send(message('late'), never)).rejects.toMatchObject({
      kind: 'gone',
      message: expect.stringContaining('after their next message'),
    })
  })

  test('WhatsApp: a file is downloaded in two steps, up to the limit', async () => {
    const { adapter, graph, receive, heard } = await started()
    const image = { type: 'image', text: null, image: { id: 'm7', mime_type: 'image/jpeg', caption: 'look' } }
    await receive(signedCallback(callbackOf(callbackEntry([{ id: 'wamid.8', text: '', more: image }]))))
    const file = heard[0]!.attachments[0]!
    expect(heard[0]).toMatchObject({ text: 'look', albumId: albumByTime })
    expect(file).toMatchObject({ kind: 'picture', mediaType: 'image/jpeg' })
    const describeFile = (url: string, size?: number) =>
      graph.answer(`m7?phone_number_id=${phoneNumberId}`, 200, JSON.stringify({ url, file_size: size }))
    describeFile(`${graph.root}/bytes`)
    graph.answer('bytes', 200, new Uint8Array(3000).fill(1))
    expect((await adapter.download?.(file.reference, 3000, never))?.length).toBe(3000)
    expect(graph.calls.at(-1)).toMatchObject({ path: 'bytes', authorization: 'Bearer access-token' })
    await expect(adapter.download?.(file.reference, 2999, never)).rejects.toMatchObject({ kind: 'too-large' })
    describeFile(`${graph.root}/bytes`, 5000)
    await expect(adapter.download?.(file.reference, 4000, never)).rejects.toMatchObject({ kind: 'too-large' })
  })

  test("WhatsApp: the token is sent only to Meta's hosts", async () => {
    const { adapter, graph, receive, heard } = await started()
    const elsewhere = await startFakeGraph()
    closing.push(elsewhere.close)
    const document = { type: 'document', text: null, document: { id: 'm8', filename: 'a.pdf' } }
    await receive(signedCallback(callbackOf(callbackEntry([{ id: 'wamid.9', text: '', more: document }]))))
    const { host } = new URL(elsewhere.root)
    for (const url of [
      `${elsewhere.root}/bytes`,
      `http://lookaside.fbsbx.com/x`,
      `https://lookaside.fbsbx.com.evil.example/x`,
      `https://lookaside.fbsbx.com@${host}/x`,
      'file:///etc/passwd',
      'no address',
    ]) {
      graph.answer(`m8?phone_number_id=${phoneNumberId}`, 200, JSON.stringify({ url }))
      await expect(
        adapter.download?.(heard[0]!.attachments[0]!.reference, 1000, never),
      ).rejects.toMatchObject({ kind: 'refused' })
    }
    expect(elsewhere.calls).toEqual([])
  })

  test('WhatsApp: a file is sent in two steps', async () => {
    const { adapter, graph } = await started()
    const bytes = Buffer.from('# whole')
    const file = { place: places.alone, clientId: 'f', name: 'answer.md', mediaType: 'text/markdown', bytes }
    await adapter.upload?.(file, never)
    const [upload, sent] = graph.calls.slice(-2)
    expect(upload).toMatchObject({ path: `${phoneNumberId}/media`, authorization: 'Bearer access-token' })
    expect(upload?.raw).toContain('# whole')
    expect(upload?.raw).toContain('Content-Type: text/plain')
    expect(JSON.parse(sent!.raw)).toMatchObject({
      type: 'document',
      document: { id: 'm1', filename: 'answer.md' },
    })
  })

  test('WhatsApp: a rejected token is reported and never shown', async () => {
    const graph = await startFakeGraph()
    closing.push(graph.close)
    const error = { code: 190, message: 'Invalid OAuth access token' }
    graph.answer(`${phoneNumberId}?fields=display_phone_number`, 401, JSON.stringify({ error }))
    const adapter = anAdapter(graph.root)
    closing.push(adapter.close)
    const states: ChannelState[] = []
    const listener = {
      received: async () => {},
      stateChanged: (state: ChannelState) => void states.push(state),
      passedOver: () => {},
    }
    await expect(adapter.start(listener)).rejects.toMatchObject({ kind: 'refused' })
    expect(states.at(-1)?.state).toBe('refused')
    expect(JSON.stringify(states)).not.toContain('access-token')
  })

  test('WhatsApp: with an unreachable server nothing was sent', async () => {
    const graph = await startFakeGraph()
    await graph.close()
    const adapter = anAdapter(graph.root)
    closing.push(adapter.close)
    await expect(adapter.send(message('x'), never)).rejects.toMatchObject({ kind: 'unreachable' })
  })

  test('WhatsApp: close ends all sockets', async () => {
    const { adapter, graph } = await started()
    await adapter.send(message('x'), never)
    await adapter.close()
    await vi.waitFor(async () => expect(await graph.openSockets()).toBe(0))
  })
})
