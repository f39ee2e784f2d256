import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { patient } from '../support/patience.ts'
import { openTestBrowser } from './browser-lane.ts'
import type { TestBrowser } from './browser-lane.ts'
import { engineOfThisMachine, withEngine } from './sandbox-lane.ts'

const found = await engineOfThisMachine()
const value = 'tops3cret-value'
const shop = 'http://shop.test'
const secret = { value, origins: [shop] }

withEngine(
  'a secret that was typed into a page',
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
    const open = (url: string) => act('navigate', { url })
    async function refOf(words: string): Promise<string> {
      const { text } = await act('snapshot', {})
      const line = text.split('\n').find((one) => one.includes(words)) ?? ''
      const ref = /\[(e\d+)\]/.exec(line)?.[1]
      if (ref === undefined) throw new Error(`no reference for ${words} in\n${text}`)
      return ref
    }
    /** Acts on an element, again from a new snapshot if its page was replaced meanwhile, as the error says. */
    async function onElement<T>(words: string, work: (ref: string) => Promise<T>): Promise<T> {
      const ref = await refOf(words)
      return work(ref).catch(async (error: unknown) => {
        if (!String(error).includes('stale-reference')) throw error
        return work(await refOf(words))
      })
    }
    const click = async (
      words: string,
      more: { button?: 'left' | 'middle' | 'right'; double?: boolean } = {},
    ) => onElement(words, (ref) => act('click', { ref, ...more }))
    const typeSecret = async (what: typeof secret = secret) =>
      onElement('Search', (ref) => act('type', { ref, text: '', secret: what }))
    const keys = async (...names: readonly string[]) => {
      for (const key of names) await act('press_key', { key })
    }
    /**
     * Returns how many characters a page of another origin receives by a paste with the keyboard or the middle
     * button.
     */
    async function pasted(how: 'keys' | 'middle'): Promise<string> {
      if (how === 'middle') await click('Paste', { button: 'middle' })
      else {
        await click('Paste')
        await keys('Control+V')
      }
      return (await browser.status()).title ?? ''
    }
    async function search(what: string | typeof secret): Promise<void> {
      await open(`${shop}/search`)
      if (typeof what === 'string') await onElement('Search', (ref) => act('type', { ref, text: what }))
      else await typeSecret(what)
      await click('Find')
    }
    const selectAll = () => keys('Control+A')
    const copyAll = () => keys('Control+A', 'Control+C')
    const selectWord = async () => void (await click('Results for', { double: true }))

    describe('a page of another origin', () => {
      it('a page of another origin is given what was copied elsewhere while no secret was typed, and nothing by a middle click', async () => {
        await search('plain words')
        await copyAll()
        await open('http://other.test/paste')
        expect(await pasted('keys')).toMatch(/^got \d/)
        await search('plain words')
        await selectWord()
        await open('http://other.test/paste')
        expect(await pasted('middle')).toBe('empty')
      })

      it.each<[string, () => Promise<unknown>, 'keys' | 'middle']>([
        ['copied with keys', copyAll, 'keys'],
        ['copied with Control+Insert', () => keys('Control+A', 'Control+Insert'), 'keys'],
        [
          'cut from a field that shows it',
          async () => (await click('Again'), keys('Control+A', 'Control+X')),
          'keys',
        ],
        [
          'cut with Shift+Delete',
          async () => (await click('Again'), keys('Control+A', 'Shift+Delete')),
          'keys',
        ],
        ['copied by a button of the page', () => click('Copy'), 'keys'],
        ['selected', selectAll, 'middle'],
        ['selected by two clicks', selectWord, 'middle'],
        [
          'selected with keys in a field',
          async () => (await click('Again'), keys('Home', 'Shift+End')),
          'middle',
        ],
      ])('is not given what was %s', async (_how, take, paste) => {
        await search(secret)
        await take()
        await open('http://other.test/paste')
        expect(await pasted(paste)).toBe('empty')
      })

      it('a page of another origin is not given it in another tab, in a frame or after going back', async () => {
        await search(secret)
        await copyAll()
        await act('open_tab', { url: 'http://other.test/paste' })
        expect(await pasted('keys')).toBe('empty')
        expect(await pasted('middle')).toBe('empty')
        await act('close_tab', {})
        await open('http://other.test/paste')
        await act('go_back', {})
        await copyAll()
        await act('go_forward', {})
        expect(await pasted('keys')).toBe('empty')
        await open(`${shop}/embeds`)
        await typeSecret()
        await click('Search')
        await copyAll()
        await click('Paste', { button: 'middle' })
        await click('Paste')
        await keys('Control+V')
        expect((await act('snapshot', {})).text).toMatch(/textbox "Paste" \[e\d+\](?: \[active\])?$/m)
      })

      it('a page of another origin is given nothing of the field itself, which is only masked', async () => {
        await open(`${shop}/search`)
        await typeSecret()
        expect((await act('snapshot', {})).text).toMatch(/Search" \[e\d+\].*: \[hidden\]/)
        await keys('Control+A', 'Control+C')
        await open('http://other.test/paste')
        expect([await pasted('keys'), await pasted('middle')]).toEqual(['empty', 'empty'])
      })

      it('a page of another origin is given nothing of a frame without scripts inside it, nor by several keys at once', async () => {
        await open(`http://around.test/around?sandbox=allow-forms&src=${encodeURIComponent(`${shop}/said`)}`)
        await typeSecret()
        await click('Find')
        await selectWord()
        for (const keysAtOnce of ['Control+C+V+C+V+C+V+C+V+C+V+C+V', 'Control+A+C', 'a+b'])
          expect(await browser.refused('press_key', { key: keysAtOnce })).toMatchObject({
            code: 'bad-params',
          })
        await keys(...Array.from({ length: 4 }, () => ['Control+C', 'Control+V', 'Shift+Insert']).flat())
        expect((await browser.status()).title).toBe('empty')
      })

      it('a page of another origin is not given what a page of a third origin shows that it was sent to', async () => {
        await open(`${shop}/search`)
        await typeSecret()
        await open(`http://third.test/results?q=${value}`)
        await copyAll()
        await open('http://other.test/paste')
        expect(await pasted('keys')).toBe('empty')
      })

      it('a page is given what is copied from its own origin once a secret was typed, and no page of another', async () => {
        await search(secret)
        for (const [from, expected] of [
          ['http://other.test', /^got \d/],
          ['http://plain.test', /^empty$/],
        ] as const) {
          await open(`${from}/results?q=other`)
          await copyAll()
          await open('http://other.test/paste')
          expect(await pasted('keys')).toMatch(expected)
        }
      })

      it('a page of another origin is not given what a page shows that no request carried it to', async () => {
        await search(secret)
        await open('http://echo.test/account')
        await copyAll()
        await open('http://other.test/paste')
        expect(await pasted('keys')).toBe('empty')
      })
    })

    describe('the agent', () => {
      it('the agent gets the secret from no action, whatever the page does with it', async () => {
        await search(secret)
        const texts = [
          await click('Tell'),
          await act('snapshot', {}),
          await act('find_text', { query: 'Results' }),
          await act('find_text', { query: value }),
          await act('inspect_requests', { limit: 50 }),
          await browser.status(),
        ]
        expect(JSON.stringify(texts)).not.toMatch(/tops|cret-v|-value/)
        expect(JSON.stringify(texts)).toContain('[secret]')
        // The page's alert consists of 490 letters and then the secret; the letters are returned.
        expect(JSON.stringify(texts)).toContain('xxxxxxxxx')
        const saved = await act('download', { ref: await refOf('Save') })
        expect(Buffer.from(saved.content_base64, 'base64').toString()).toBe('Found: [secret]')
      })

      it('the agent cannot try it letter by letter by waiting for it', async () => {
        await search(secret)
        const seen = (text: string) => act('wait_for', { text, timeout_ms: 300 })
        for (const guess of ['t', 'top', 'tops3', value].map((part) => `for: ${part}`))
          expect((await seen(guess)).found).toBe(false)
        expect((await seen('results  FOR:')).found).toBe(true)
      })

      it('the agent sees no picture of it, and people who look on see none either', async () => {
        const pictureOf = async (q: string) => {
          await open(`${shop}/results?q=${q}`)
          const { image_base64: image } = await act('screenshot', { full_page: true })
          return { image, front: await browser.picture() }
        }
        const other = { value: 'an0ther-secretX', origins: [shop] }
        await search(secret)
        await search(other)
        const [one, two] = [await pictureOf(value), await pictureOf(other.value)]
        const plain = await pictureOf('an0ther-words-X')
        expect(one.image).toBe(two.image)
        expect(one.front).toBe(two.front)
        expect(plain.image).not.toBe(one.image)
        expect(plain.front).not.toBe(one.front)
        expect((await act('snapshot', {})).text).not.toContain('flotilla')
      })
    })

    it('a secret that was typed into a page is written down nowhere, and its origin is guarded after a restart as well', async () => {
      await search(secret)
      await browser.post('/close')
      expect((await browser.run('grep -c tops3cret /data/tabs.json')).text).toBe('0')
      await browser.restart()
      await open(`${shop}/results?q=harmless`)
      await copyAll()
      await open('http://other.test/paste')
      expect([await pasted('keys'), await pasted('middle')]).toEqual(['empty', 'empty'])
    })
  },
  found,
)
