import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { browserServicePort } from '../../packages/protocol/src/browser-service-api.ts'
import { eventually } from '../support/eventually.ts'
import { patient } from '../support/patience.ts'
import { heedsLesson, verifies } from '../verifies.ts'
import { openTestBrowser } from './browser-lane.ts'
import type { TestBrowser } from './browser-lane.ts'
import { openRfb } from './rfb-client.ts'
import { engineOfThisMachine, withEngine } from './sandbox-lane.ts'

const found = await engineOfThisMachine()

/** Returns a shell command that prints how a connection ends. */
function connectTo(host: string, port: number): string {
  const tell = (word: string) => `()=>{console.log('${word}');process.exit()}`
  return `node -e "require('net').connect({host:'${host}',port:${port},timeout:3000}).on('connect',${tell('connected')}).on('timeout',${tell('silent')}).on('error',(e)=>console.log(e.code))"`
}

withEngine(
  'the browser of an agent',
  (engine) => {
    let browser: TestBrowser
    beforeAll(
      async () => {
        browser = await openTestBrowser(engine)
      },
      // On a new machine the packages of the image are fetched first.
      patient(15 * 60_000),
    )
    afterAll(() => browser?.close())
    const act: TestBrowser['act'] = (name, params, deadlineMs) => browser.act(name, params, deadlineMs)
    const refused: TestBrowser['refused'] = (name, params, deadlineMs) =>
      browser.refused(name, params, deadlineMs)
    const open = (path: string) => act('navigate', { url: `http://shop.test${path}` })
    /** Returns the reference in the line of a new snapshot that contains these words. */
    async function refOf(words: string): Promise<string> {
      const { text } = await act('snapshot', {})
      const line = text.split('\n').find((one) => one.includes(words)) ?? ''
      const ref = /\[(e\d+)\]/.exec(line)?.[1]
      if (ref === undefined) throw new Error(`no reference for ${words} in\n${text}`)
      return ref
    }
    const press = async (words: string) => act('click', { ref: await refOf(words) })
    const title = async () => (await browser.status()).title

    describe('its container', () => {
      it('the container of a browser has the walls of an agent and three capabilities, which what serves in it has not', async () => {
        verifies('resources:browser:same-hardening', 'resources:browser:added-capabilities')
        const { HostConfig } = await browser.inspect()
        expect(HostConfig).toMatchObject({ ReadonlyRootfs: true, PidsLimit: 256, Privileged: false })
        expect(HostConfig['CapDrop']).toEqual(['ALL'])
        expect(HostConfig['CapAdd']).toEqual(['NET_ADMIN', 'SETUID', 'SETGID'])
        expect(HostConfig['SecurityOpt']).toContain('no-new-privileges')
        expect(JSON.stringify(HostConfig['Tmpfs'])).toMatch(
          /"\/tmp":"rw,noexec,nosuid,nodev,.*size=104857600/,
        )
        const said = await browser.run(
          'touch /x; cp /bin/true /tmp/t; /tmp/t; grep -h -E "^(Uid|CapPrm|CapEff|CapInh|CapAmb|NoNewPrivs|Seccomp:)" $(grep -l browser.cjs /proc/[0-9]*/cmdline | grep -v -e /self -e /1/ | head -1 | sed s/cmdline/status/)',
        )
        expect(said.text).toMatch(/Read-only file system/)
        expect(said.text).toMatch(/Permission denied/)
        expect(said.text).toMatch(/Uid:\s+1000\s+1000\s+1000\s+1000/)
        expect(said.text.match(/Cap(?:Prm|Eff|Inh|Amb):\s+0{16}/g)).toHaveLength(4)
        expect(said.text).toMatch(/NoNewPrivs:\s+1/)
      })

      it('the container of a browser uses them for its filter and its user, and ends with 78 and the reason where it has them not', async () => {
        verifies('resources:browser:capabilities-purpose', 'limits:browser-egress:fail-closed')
        const without = await browser.once({ capabilities: ['SETUID', 'SETGID'] })
        expect(without.code).toBe(78)
        expect(without.text.split('\n').at(-1)).toMatch(/^The egress filter does not stand: iptables/)
        const none = await browser.once({ capabilities: ['NET_ADMIN'] })
        expect(none.code).not.toBe(0)
        expect(none.text).toMatch(/setpriv/)
      })

      it('the container of a browser does not start where a rule is missing or one is too many', async () => {
        verifies('limits:browser-egress:fail-closed')
        const broken = (change: string) =>
          browser.once({
            command: ['sh', '-c', `sed '${change}' /opt/flotilla/enter.sh > /tmp/e; exec sh /tmp/e`],
          })
        // The script sets one rule less than it checks afterwards.
        const missing = await broken('s#"$2" | sed#"$2" | grep -v 192.168 | sed#')
        expect([missing.code, missing.text]).toEqual([
          78,
          expect.stringContaining('lacks the rule -d 192.168.0.0/16'),
        ])
        const added = await broken('s#echo COMMIT#echo "-A OUTPUT -j ACCEPT"; echo COMMIT#')
        expect([added.code, added.text]).toEqual([78, expect.stringContaining('those are not ours alone')])
      })

      it('the user of a browser container changes neither the filter nor itself, with a namespace of its own or without', async () => {
        const said = await browser.run(
          'iptables -F; ip6tables -P OUTPUT ACCEPT; unshare -Urn sh -c "iptables -P OUTPUT ACCEPT; ip route | wc -l"; setpriv --reuid 0 true; nsenter -t 1 -n true; echo end',
        )
        expect(said.text).toMatch(
          /iptables v.*denied[\s\S]*ip6tables v.*denied[\s\S]*setresuid failed[\s\S]*nsenter: .*denied/,
        )
        const rules = await browser.run('iptables -S OUTPUT; ip6tables -S OUTPUT', '0:0')
        expect(rules.text.match(/^-P OUTPUT DROP$/gm)).toHaveLength(2)
      })

      it('the container of a browser answers the mesh alone, by its proof for this browser', async () => {
        const ask = async (authorization?: string) =>
          (
            await fetch(`http://${browser.address}:${browserServicePort}/status`, {
              headers: authorization === undefined ? {} : { authorization },
            })
          ).status
        expect(await ask(browser.proof())).toBe(200)
        // A proof for the agent itself is not valid for its browser.
        const proofs = [
          undefined,
          browser.proof('surfer'),
          browser.proof('browser:other'),
          browser.proof(undefined, -1),
        ]
        expect(await Promise.all(proofs.map(ask))).toEqual([401, 401, 401, 401])
      })
    })

    describe('its filter', () => {
      /** Returns how a connection from inside ends, as UID 1000. */
      const reach = async (host: string, port: number) => (await browser.run(connectTo(host, port))).text

      /** The filter refuses at once. Without its rule there is no route, which is another error. */
      const refusals = async (...addresses: readonly string[]) => [
        ...new Set(await Promise.all(addresses.map((address) => reach(address, 80)))),
      ]

      it('the filter of a browser refuses RFC 1918', async () => {
        verifies('limits:browser-egress:rfc1918')
        const all = ['10.1.2.3', '172.16.0.1', '172.31.255.254', '192.168.1.1']
        expect(await refusals(...all)).toEqual(['ECONNREFUSED'])
        // Without the filter, the connection is not refused.
        const control = await browser.once({ command: ['sh', '-c', connectTo('192.168.1.1', 80)] })
        expect(control.text).toMatch(/^(?:silent|E(?!CONNREFUSED)\w+)$/)
      })

      it('the filter of a browser refuses link-local addresses', async () => {
        verifies('limits:browser-egress:link-local')
        expect(await refusals('169.254.169.254', '169.254.1.1')).toEqual(['ECONNREFUSED'])
      })

      it('the filter of a browser refuses carrier-grade NAT', async () => {
        verifies('limits:browser-egress:cgnat')
        expect(await refusals('100.64.0.1', '100.127.255.254')).toEqual(['ECONNREFUSED'])
      })

      it('the filter of a browser refuses what IANA reserved', async () => {
        verifies('limits:browser-egress:iana-reserved')
        const all = ['192.0.2.1', '198.18.0.1', '203.0.113.1', '240.0.0.1', '192.0.0.192']
        expect(await refusals(...all)).toEqual(['ECONNREFUSED'])
      })

      it('the filter of a browser refuses the gateway but for the proxy, in both families, where a container without it connects', async () => {
        verifies('limits:browser-egress:both-families')
        heedsLesson(123)
        const canary = createServer((socket) => socket.on('error', () => undefined).end()).listen(0, '::')
        onTestFinished(() => void canary.close())
        await eventually('the canary listens', () => canary.listening)
        const { port } = canary.address() as AddressInfo
        const { gateway, gateway6 } = browser.network
        const control = await browser.once({
          command: ['sh', '-c', [gateway, gateway6].map((host) => connectTo(host, port)).join('; ')],
        })
        expect(control.text.split('\n')).toEqual(['connected', 'connected'])
        expect([await reach(gateway, port), await reach(gateway6, port)]).toEqual([
          'ECONNREFUSED',
          'ECONNREFUSED',
        ])
        expect(await reach(gateway, browser.proxy.port)).toBe('connected')
      })

      it('the filter of a browser lets loopback inside the container be, and nothing of it out by another way', async () => {
        verifies('limits:browser-egress:in-container-loopback', 'limits:browser-egress:loopback')
        expect(await reach('127.0.0.1', browserServicePort)).toBe('connected')
        expect(await reach('::1', browserServicePort)).toBe('connected')
        const { text } = await browser.run('iptables -S OUTPUT; ip6tables -S OUTPUT', '0:0')
        expect(text).toMatch(/-o lo -j ACCEPT[\s\S]*-d 127\.0\.0\.0\/8 -j REJECT/)
        expect(text).toMatch(/-d ::\/3 -j REJECT/)
      })

      it('the filter of a browser asks no name server, not even the one of the engine', async () => {
        const said = await browser.run(
          `node -e "const d=require('dns'),r=new d.Resolver({timeout:2000,tries:1});r.setServers(['127.0.0.11']);r.resolve4('secret.example.com',(e,a)=>console.log('engine',e?e.code:a));const q=new d.Resolver({timeout:2000,tries:1});q.setServers(['8.8.8.8']);q.resolve4('secret.example.com',(e,a)=>console.log('public',e?e.code:a))"`,
        )
        expect(said.text).toMatch(/engine (?:ECONNREFUSED|ETIMEOUT|ETIMEDOUT)/)
        expect(said.text).toMatch(/public (?:ECONNREFUSED|ETIMEOUT|ETIMEDOUT)/)
      })
    })

    describe('a page', () => {
      it('a page in the browser is shown by a Chromium in its own sandbox', async () => {
        expect(await open('/form')).toMatchObject({
          http_status: 200,
          captcha: null,
          page: { title: 'A form', host: 'shop.test', tabs: 1 },
        })
        expect(await browser.status()).toMatchObject({ live: true, sandboxed: true, tabs: 1, busy: false })
      })

      it('a page in the browser goes out through the proxy alone, whatever it names and however', async () => {
        await open('/reach')
        const from = browser.proxy.asked.length
        const private_ = [
          '10.1.2.3',
          '0x7f000001',
          '2130706433',
          '127.1',
          '[::1]',
          '[::ffff:10.0.0.1]',
          'localhost',
          '169.254.169.254',
        ]
        const script = `Promise.all(${JSON.stringify(private_)}.map((h) => fetch('http://' + h + ':8500/status', { mode: 'no-cors' }).then((r) => r.status, () => 0)))`
        const ways = `
          new WebSocket('ws://10.1.2.3/');
          const pc = new RTCPeerConnection({ iceServers: [{ urls: 'stun:10.1.2.3:3478' }] });
          const found = []; pc.onicecandidate = (e) => e.candidate && found.push(e.candidate.candidate);
          pc.onicegatheringstatechange = () => {
            if (pc.iceGatheringState === 'complete') document.title = 'candidates ' + found.length };
          pc.createDataChannel('x'); pc.createOffer().then((o) => pc.setLocalDescription(o))`
        await inPage(`${script}.then(() => { ${ways} })`)
        await eventually('the page has tried', async () => (await title())?.startsWith('candidates'))
        expect(await title()).toBe('candidates 0')
        const asked = browser.proxy.asked.slice(from).join('\n')
        for (const host of [
          '10.1.2.3',
          '127.0.0.1',
          '[::1]',
          '[::ffff:a00:1]',
          'localhost',
          '169.254.169.254',
        ])
          expect(asked).toContain(`${host}:8500`)
        expect(asked).toContain('CONNECT 10.1.2.3:80')
      })

      it.each([
        'file:///etc/passwd',
        'chrome://version',
        'view-source:http://shop.test/form',
        'devtools://devtools/bundled/inspector.html',
        'javascript:1',
      ])('a page in the browser does not become %s, asked for or by itself', async (url) => {
        expect(await refused('navigate', { url })).toMatchObject({ code: 'url-refused' })
        await open('/reach')
        await inPage(
          `const a = document.createElement('a'); a.href = ${JSON.stringify(url)}; document.body.append(a); a.click(); window.open(${JSON.stringify(url)})`,
        )
        const { text, page } = await act('snapshot', {})
        expect(`${page.url} ${text}`).not.toMatch(/root:x:0|Chromium\s+\d|Order/)
        while ((await browser.status()).tabs > 1) await act('close_tab', {})
      })

      it('a page sends requests only to its own destination', () => {
        const others = browser.proxy.asked.filter((line) => /google|gstatic|invalid/.test(line))
        expect(others).toEqual([])
      })

      /** Runs a script as the page's own, through a page that executes its query. */
      async function inPage(script: string): Promise<void> {
        await act('navigate', { url: `http://shop.test/run?${encodeURIComponent(script)}` })
      }
    })

    describe('an action', () => {
      it('an action fills a form whose secrets a snapshot does not show', async () => {
        await open('/form')
        const { text } = await act('snapshot', {})
        expect(text).toContain('textbox "Word" [e3]: [hidden]')
        expect(text).not.toContain('hunter2')
        await act('fill_form', {
          fields: [
            { ref: 'e2', value: 'Ada' },
            { ref: 'e4', value: 'true' },
          ],
        })
        expect((await act('select', { ref: 'e5', values: ['l'] })).selected).toEqual(['l'])
        await act('type', { ref: 'e2', text: ' Lovelace' })
        expect((await press('Send')).page.url).toBe(
          'http://shop.test/done?name=Ada+Lovelace&word=hunter2&sure=on&size=l',
        )
        expect(await refused('click', { ref: 'e6' })).toMatchObject({
          code: 'stale-reference',
          message: expect.stringContaining('Take a new snapshot'),
        })
        expect((await act('go_back', {})).page.title).toBe('A form')
        expect((await act('go_forward', {})).page.title).toBe('Done')
        const { requests } = await act('inspect_requests', { limit: 50 })
        expect(requests.at(-1)?.url).toMatch(/^http:\/\/shop\.test\//)
        expect(JSON.stringify(requests)).not.toMatch(/hunter2|Lovelace/)
      })

      it('a browser action reaches into frames of this and other hosts and into shadow roots', async () => {
        await open('/frames')
        const { text } = await act('snapshot', {})
        expect(text.match(/button "Inside"/g)).toHaveLength(2)
        await act('click', { ref: /button "Inside" \[(e\d+)\]$/m.exec(text)?.[1] ?? '' })
        await press('In the shadow')
        expect(await title()).toBe('shadow clicked')
        const frame = /iframe \[(e\d+)\]/.exec((await act('snapshot', {})).text)?.[1] ?? ''
        expect((await act('snapshot', { frame })).text).toContain('button "pressed" [e2]')
      })

      it('a browser action opens tabs up to eight and says what pages opened by themselves', async () => {
        await open('/popups')
        const one = await press('One more')
        expect(one.notices).toEqual(['A pop-up opened as tab 1, which is in front now.'])
        expect(one.page).toMatchObject({ tab_index: 1, tabs: 2 })
        for (let tabs = 2; tabs < 8; tabs += 1) await act('open_tab', {})
        expect(await refused('open_tab', {})).toMatchObject({ code: 'not-possible' })
        await act('switch_tab', { index: 0 })
        const more = await press('One more')
        expect(more.notices.join()).toMatch(/which was closed: 8 are open/)
        expect(more.page.tabs).toBe(8)
        for (let tabs = 8; tabs > 1; tabs -= 1) await act('close_tab', { index: tabs - 1 })
        expect(await refused('switch_tab', { index: 5 })).toMatchObject({ code: 'no-such-tab' })
        expect((await act('close_tab', {})).page).toMatchObject({ url: 'about:blank', tabs: 1 })
      })

      it('an action is not blocked by dialogs, and reports each', async () => {
        await open('/dialogs')
        expect((await press('Ask')).dialogs).toEqual([
          { kind: 'alert', message: 'first' },
          { kind: 'confirm', message: 'second' },
        ])
        expect(await title()).toBe('false')
        await open('/leaving')
        await press('Hold')
        expect(await open('/done')).toMatchObject({
          page: { title: 'Done' },
          dialogs: [{ kind: 'beforeunload' }],
        })
      })

      it('a browser action takes files in and out, by what they hold and within bounds', async () => {
        await open('/files')
        const content = Buffer.from('hello').toString('base64')
        await act('upload_file', {
          ref: await refOf('Choose'),
          files: [{ name: '../a.txt', content_base64: content }],
        })
        expect(await title()).toBe('a.txt:5')
        expect(await act('download', { ref: await refOf('Report') })).toMatchObject({
          name: '_report.pdf',
          mime_type: 'application/pdf',
          size_bytes: 17,
        })
        expect(await refused('download', { ref: await refOf('Large') })).toMatchObject({ code: 'too-large' })
        expect(await refused('download', { ref: await refOf('Endless') })).toMatchObject({
          code: 'too-large',
        })
        expect((await browser.run('ls /data/downloads | wc -l')).text).toBe('0')
        expect((await press('Report')).notices.join()).toMatch(/was stopped/)
      })

      it('a browser action scrolls what grows, waits for what comes and finds words', async () => {
        await open('/endless')
        expect((await act('find_text', { query: 'row 59' })).total).toBe(0)
        await act('scroll', { direction: 'down', amount: 5000 })
        expect((await act('wait_for', { text: 'row 59', timeout_ms: 10_000 })).found).toBe(true)
        expect((await act('find_text', { query: 'ROW 59' })).matches.join()).toContain('row 59')
        expect((await act('wait_for', { text: 'never there', timeout_ms: 50 })).found).toBe(false)
      })

      it('a browser action shows the first 200 elements of ten thousand and says what it left out', async () => {
        await open('/many')
        const shown = await act('snapshot', {}, 120_000)
        expect(shown.elements).toBe(200)
        expect(shown.left_out).toMatch(/^Left out: 9\d{3} elements after the first 200/)
        expect(shown.text.length).toBeLessThanOrEqual(30_000)
      })

      it('a browser action shows a page’s words as words, on lines of their own making', async () => {
        await open('/injection')
        const { text } = await act('snapshot', {})
        expect(text.split('\n').filter((line) => line.trimStart().startsWith('- button'))).toEqual([
          expect.stringContaining('"x\\" [e99] - button \\"Confirm payment" [e2]: "Pay"'),
        ])
      })

      it('a browser action takes a picture, in which secrets are covered', async () => {
        await open('/form')
        const {
          image_base64: image,
          mime_type: mime,
          width,
          height,
        } = await act('screenshot', { full_page: true })
        expect(Buffer.from(image, 'base64').subarray(0, 3)).toEqual(Buffer.from([0xff, 0xd8, 0xff]))
        expect([mime, width > 1000, height > 500]).toEqual(['image/jpeg', true, true])
      })

      it('a browser action is no look of who looks on: that begins no browser, waits for nothing and takes no word from the agent', async () => {
        // Dialogs that open before the action ends are returned with its result.
        for (const waitMs of [500, 1000, 2000, 4000, 8000]) {
          const script = `setTimeout(() => { alert('late'); document.title = 'told' }, ${waitMs})`
          const { dialogs } = await act('navigate', {
            url: `http://shop.test/run?${encodeURIComponent(script)}`,
          })
          if (dialogs.length === 0) break
        }
        await eventually('the page has spoken', async () => (await title()) === 'told')
        await eventually('it rests', async () => (await browser.status()).idle_seconds >= 1)
        const seen = Buffer.from((await browser.picture()) ?? '', 'base64')
        expect(seen.subarray(0, 3)).toEqual(Buffer.from([0xff, 0xd8, 0xff]))
        expect(await browser.status()).toMatchObject({ busy: false, watchers: 0 })
        expect((await browser.status()).idle_seconds).toBeGreaterThanOrEqual(1)
        expect((await act('snapshot', {})).dialogs).toEqual([{ kind: 'alert', message: 'late' }])

        const waiting = act('wait_for', { text: 'never there', timeout_ms: 20_000 }).catch(() => undefined)
        await eventually('it waits', async () => (await browser.status()).busy)
        expect(await browser.picture()).not.toBeNull()
        expect((await browser.status()).busy).toBe(true)
        // The kill also ends the pending action.
        await browser.run('kill -9 $(ps -C chromium -o pid= | head -1)')
        await waiting
        await eventually('it is gone', async () => !(await browser.status()).live)
        expect(await browser.picture()).toBeNull()
        expect((await browser.status()).live).toBe(false)
      })

      it('an action types a secret only on its own host, and reveals it in no result', async () => {
        const secret = { value: 'tops3cret-value', origins: ['http://shop.test'] }
        await open('/secret')
        const other = await refOf('Other')
        expect(await refused('type', { ref: other, text: '', secret })).toMatchObject({
          code: 'secret-refused',
        })
        expect(await refused('fill_form', { fields: [{ ref: other, value: '', secret }] })).toMatchObject({
          code: 'secret-refused',
        })
        await act('fill_form', { fields: [{ ref: await refOf('Card'), value: '', secret }] })
        const told = [
          await act('snapshot', {}),
          await act('find_text', { query: 'tops3cret' }),
          await act('find_text', { query: 'secret' }),
          await act('inspect_requests', { limit: 50 }),
          await refused('navigate', { url: 'nothing:tops3cret-value' }),
          await browser.status(),
        ]
        expect(JSON.stringify(told)).not.toContain('tops3cret-value')
        expect(JSON.stringify(told)).toContain('[hidden]')
        // The value was typed: the page sent it on.
        expect(browser.proxy.asked.join()).toContain('/seen?card=tops3cret-value')
      })

      it('a browser action says of a page that it asks for a person', async () => {
        expect((await open('/captcha')).captcha).toEqual({
          kind: 'generic',
          host: 'shop.test',
          site_key: null,
        })
      })

      it('a browser action takes the answer of a CAPTCHA into the page that asks for just that, and it asks no more', async () => {
        const key = '10000000-ffff-ffff-ffff-000000000001'
        expect((await open('/asks')).captcha).toEqual({ kind: 'hcaptcha', host: 'shop.test', site_key: key })
        const answer = { kind: 'hcaptcha', host: 'shop.test', site_key: key, token: 'P1_the.token' }
        const put = (more: object = {}) => browser.post('/captcha-answer', { ...answer, ...more })
        for (const other of [{ kind: 'turnstile' }, { host: 'other.test' }, { site_key: 'another-key-0' }])
          expect(await put(other)).toEqual({ answered: false })
        expect(await put()).toEqual({ answered: true })
        expect(await title()).toBe('P1_the.token P1_the.token')
        expect((await act('snapshot', {})).captcha).toBeNull()
        expect(await put()).toEqual({ answered: false })
      })

      it('a browser action is one at a time, in order, and eight wait at most', async () => {
        heedsLesson(121)
        await open('/clicks')
        const clicks = Array.from({ length: 14 }, () =>
          act('click_xy', { x: 300, y: 300 }).then(() => 'done', String),
        )
        const ends = await Promise.all(clicks)
        const done = ends.filter((end) => end === 'done').length
        expect(ends.filter((end) => end !== 'done').every((end) => end.includes('browser-busy'))).toBe(true)
        expect(done).toBeGreaterThanOrEqual(9)
        expect(await title()).toBe(String(done))
      })

      it('a browser action is broken off at its deadline, also on a page that answers nothing', async () => {
        await open('/busy')
        const ref = await refOf('Hang')
        expect(await refused('click', { ref }, 3000)).toMatchObject({ code: 'deadline-passed' })
        expect((await act('snapshot', {})).notices.join()).toMatch(/did not answer/)
        expect((await open('/done')).page.title).toBe('Done')
      })

      it('a browser action with other parameters than it takes is refused', async () => {
        expect(await refused('navigate', { address: 'x' })).toMatchObject({ code: 'bad-params' })
        expect(await refused('fly', {})).toMatchObject({ code: 'bad-params' })
      })
    })

    describe('a person at the screen', () => {
      const watch = (watcher: string) =>
        openRfb(`ws://${browser.address}:${browserServicePort}/vnc?watcher=${watcher}`, {
          authorization: browser.proof(),
        })

      it('a person at the screen is let in by the mesh’s proof alone', async () => {
        const url = `ws://${browser.address}:${browserServicePort}/vnc`
        await expect(openRfb(url, {})).rejects.toThrow('401')
        await expect(openRfb(url, { authorization: browser.proof('surfer') })).rejects.toThrow('401')
      })

      it('a person at the screen sees, and clicks only where they may and the mode is control; the agent waits then', async () => {
        await open('/clicks')
        const [viewer, owner] = [await watch('view'), await watch('control')]
        onTestFinished(() => [viewer, owner].forEach((one) => one.close()))
        expect(await viewer.picture()).toBeGreaterThan(0)
        expect((await browser.status()).watchers).toBe(2)
        owner.click(600, 500)
        await browser.post('/watch-mode', { mode: 'control' })
        expect(await refused('snapshot', {})).toMatchObject({ code: 'person-in-control' })
        expect(await browser.status()).toMatchObject({ mode: 'control', idle_seconds: 0 })
        viewer.click(600, 500)
        // Both inputs go through the same screen in order, so an earlier click would have been counted first.
        owner.click(600, 500)
        await eventually('the click is counted', async () => (await title()) !== '0')
        expect(await title()).toBe('1')
        await browser.post('/watch-mode', { mode: 'view' })
        expect((await act('snapshot', {})).text).toContain('Count')
      })

      it('a person at the screen is disconnected after a protocol violation', async () => {
        const client = await watch('control')
        client.send(Buffer.from([77, 1, 2, 3]))
        expect(await client.closed).toBe(1008)
      })
    })

    describe('its end', () => {
      const pids = async () => (await browser.run('ps -e -o comm= | sort | uniq -c')).text

      it('a browser leaves nothing when closed, and brings tabs and cookies back', async () => {
        await open('/cookie?set')
        await open('/cookie')
        expect(await title()).toBe('visit=first')
        await act('open_tab', { url: 'http://shop.test/form' })
        await act('switch_tab', { index: 0 })
        expect(await browser.post('/close')).toEqual({ closed: true })
        expect(await pids()).not.toMatch(/chromium|Xvnc|openbox|defunct/)
        const asBefore = { url: 'http://shop.test/cookie', title: 'visit=first', tab_index: 0, tabs: 2 }
        expect((await act('snapshot', {})).page).toMatchObject(asBefore)
        await browser.restart()
        expect((await act('snapshot', {})).page).toMatchObject(asBefore)
      })

      it.each(['chromium', 'Xvnc'])(
        'a kill of %s is reported, and the next action starts again with its tabs',
        async (name) => {
          heedsLesson(117)
          await open('/form')
          const waiting = refused('wait_for', { text: 'never there', timeout_ms: 50_000 })
          await eventually('it waits', async () => (await browser.status()).busy)
          await browser.run(`kill -9 $(ps -C ${name} -o pid= | head -1)`)
          expect(await waiting).toMatchObject({ code: 'browser-crashed' })
          expect((await act('find_text', { query: 'Order' })).total).toBe(1)
          expect(await pids()).not.toMatch(/defunct/)
          expect((await pids()).match(/Xvnc/g)).toHaveLength(1)
        },
      )

      it('a launch that fails leaves no display and no process, and the next one that can works', async () => {
        heedsLesson(117)
        // From here on the browser has a profile.
        await open('/form')
        await browser.post('/close')
        await browser.run('mv /data/profile /data/kept && mkdir /data/profile && chmod 500 /data/profile')
        const launches = process.env['FLOTILLA_SOAK'] === '1' ? 100 : 3
        for (let launch = 0; launch < launches; launch += 1)
          expect(await refused('snapshot', {})).toMatchObject({ code: 'launch-failed' })
        expect(await pids()).not.toMatch(/chromium|Xvnc|openbox|defunct/)
        expect((await browser.run('ls -A /tmp | grep -c -E "X1-|vnc"')).text).toBe('0')
        await browser.run('rmdir /data/profile && mv /data/kept /data/profile')
        expect((await open('/form')).page.title).toBe('A form')
      })

      it('a browser by reset forgets who it was', async () => {
        await open('/cookie?set')
        expect((await act('reset', {})).page).toMatchObject({ url: 'about:blank', tabs: 1 })
        expect((await open('/cookie')).page.title).toBe('none')
      })
    })
  },
  found,
)
