/** The decision on an agent's link: a link, visible text, or nothing. */
export type LinkVerdict =
  | { readonly kind: 'link'; readonly href: string }
  /** The address is shown as text without a link. */
  | { readonly kind: 'shown'; readonly address: string }
  | { readonly kind: 'dropped' }

/** A longer address is shown without a link, in UTF-16 code units. A link must fit beside text into each message. */
const hrefCharsMax = 800

/** An address with a scheme. */
const schemed = /^[a-z][a-z0-9+.-]*:/i

/** A label that looks like an address. */
const addressLike =
  /^\s*(?:https?:\/\/)?(?:[^\s/@]*@)?((?:[\p{L}\p{N}-]+\.)+[\p{L}\p{N}-]{2,})(?=$|[\s:/?#])/iu

/**
 * Returns the decision on a link. Allows http and https links without a user name, if the label
 * does not look like another address than the target. Pure.
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
