import { captchaSiteKey } from '@flotilla/protocol/browser-service-api'
import type { Captcha } from '@flotilla/protocol/browser-service-api'
import type { Page } from 'playwright-core'

type CaptchaKind = NonNullable<Captcha>['kind']

/** Detects the kind of a CAPTCHA from the address of its frame; null for other frames. Pure. */
export function captchaOfFrame(address: string): CaptchaKind | null {
  if (!URL.canParse(address)) return null
  const { hostname, pathname, searchParams } = new URL(address)
  const of = (domain: string): boolean => hostname === domain || hostname.endsWith(`.${domain}`)
  if ((of('google.com') || of('recaptcha.net')) && /^\/recaptcha\/(?:api2|enterprise)\//.test(pathname)) {
    // An invisible CAPTCHA needs no answer. The frame of a challenge that it shows later has another address.
    return searchParams.get('size') === 'invisible' ? null : 'recaptcha'
  }
  if (of('hcaptcha.com')) return searchParams.get('size') === 'invisible' ? null : 'hcaptcha'
  if (of('challenges.cloudflare.com')) return 'turnstile'
  return /captcha/i.test(`${hostname}${pathname}`) ? 'generic' : null
}

/** The site key in a frame's address; null if it has none. Pure. */
export function siteKeyOf(kind: CaptchaKind, address: string): string | null {
  if (!URL.canParse(address)) return null
  const { pathname, searchParams, hash } = new URL(address)
  const found = {
    // reCAPTCHA Enterprise needs another kind of answer, so its site key is not used.
    recaptcha: pathname.startsWith('/recaptcha/api2/') ? searchParams.get('k') : null,
    hcaptcha: new URLSearchParams(hash.slice(1)).get('sitekey') ?? searchParams.get('sitekey'),
    turnstile: /\/(0x[\w-]+)(?:\/|$)/.exec(pathname)?.[1] ?? null,
    generic: null,
  }[kind]
  return found !== null && captchaSiteKey.test(found) ? found : null
}

/** The page's form fields that contain the answer once the CAPTCHA is solved. */
export const answerFields = {
  recaptcha: '[name="g-recaptcha-response"]',
  hcaptcha: '[name="h-captcha-response"], [name="g-recaptcha-response"]',
  turnstile: '[name="cf-turnstile-response"]',
} as const satisfies Record<Exclude<CaptchaKind, 'generic'>, string>

const fieldWithinMs = 1000

/** True if the page's CAPTCHA of this kind has an answer. A page has one CAPTCHA of a kind. */
async function isAnswered(page: Page, kind: CaptchaKind): Promise<boolean> {
  if (kind === 'generic') return false
  const field = page.locator(answerFields[kind]).first()
  if ((await field.count().catch(() => 0)) === 0) return false
  const held = await field.inputValue({ timeout: fieldWithinMs }).catch(() => '')
  return held !== ''
}

/** Selects CAPTCHAs that sites make themselves: an image or field with `captcha` in an attribute. */
const ownMarks =
  'img[src*="captcha" i], img[alt*="captcha" i], input[name*="captcha" i], input[id*="captcha" i]'

/** Whether a page shows a CAPTCHA. Hidden or answered ones do not count. */
export async function findCaptcha(page: Page): Promise<Captcha> {
  const host = hostOf(page.url())
  for (const frame of page.frames().slice(1)) {
    const kind = captchaOfFrame(frame.url())
    if (kind === null) continue
    const isShown = await frame
      .frameElement()
      .then((element) => element.isVisible())
      .catch(() => false)
    if (isShown && !(await isAnswered(page, kind))) {
      // The answer is inserted into the page itself, so only a CAPTCHA directly in the page gets a site key.
      const isOfPage = frame.parentFrame() === page.mainFrame()
      return { kind, host, site_key: isOfPage ? siteKeyOf(kind, frame.url()) : null }
    }
  }
  const shown = await page
    .locator(ownMarks)
    .filter({ visible: true })
    .count()
    .catch(() => 0)
  return shown > 0 ? { kind: 'generic', host, site_key: null } : null
}

export function hostOf(address: string): string {
  return URL.canParse(address) ? new URL(address).hostname.slice(0, 255) : ''
}
