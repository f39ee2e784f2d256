/** Where a link of an agent may lead, and what is shown of one that may not be followed by a touch. */
export type LinkVerdict =
  | { readonly kind: 'link'; readonly href: string }
  /** No link, but the address is worth reading. */
  | { readonly kind: 'shown'; readonly address: string }
  | { readonly kind: 'dropped' }

/** Longer addresses are read and not followed, UTF-16 code units: one must fit beside some text into every message. */
const hrefCharsMax = 800

/** The mark of an address that names its scheme. */
const schemed = /^[a-z][a-z0-9+.-]*:/i

/** A label that looks like an address. */
const addressLike =
  /^\s*(?:https?:\/\/)?(?:[^\s/@]*@)?((?:[\p{L}\p{N}-]+\.)+[\p{L}\p{N}-]{2,})(?=$|[\s:/?#])/iu

/**
 * `label` is what one would touch. Followed are http and https alone, without a user name, and only where the label is not
 * another address than the one it leads to. Pure.
 */
export function judgeLink(target: string, label: string): LinkVerdict {
  const url = URL.canParse(target) ? new URL(target) : null
  if (url === null) return schemed.test(target) || target === '' ? dropped : shown(target)
  if (url.protocol === 'mailto:') return shown(target.slice('mailto:'.length))
  if (url.protocol !== 'http:' && url.protocol !== 'https:') return dropped
  if (url.username !== '' || url.password !== '') return shown(target)
  if (url.href.length > hrefCharsMax) return shown(url.href)
  const named = addressLike.exec(label)?.[1]
  if (named !== undefined && !sameHost(named, url)) return shown(url.href)
  return { kind: 'link', href: url.href }
}

const dropped: LinkVerdict = { kind: 'dropped' }

function shown(address: string): LinkVerdict {
  return { kind: 'shown', address }
}

function sameHost(named: string, url: URL): boolean {
  const spelled = `http://${named}`
  if (!URL.canParse(spelled)) return false
  const plain = (host: string) => host.replace(/^www\./, '')
  return plain(new URL(spelled).hostname) === plain(url.hostname)
}
