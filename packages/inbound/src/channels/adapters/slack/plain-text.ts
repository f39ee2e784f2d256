/**
 * Slack's notation for mentions, channels and links: `<@U1>`, `<#C1|general>`, `<!here>`, `<https://example.org|a
 * page>`.
 */
const marked = /<([@#!]?)([^<>|]{1,3000})(?:\|([^<>]{0,3000}))?>/g

/**
 * Returns the text of a Slack message as users see it: links and channels by name, without a
 * leading mention of the bot, entities decoded. Pure.
 */
export function plainText(text: string, ourUserId: string): string {
  const ours = `<@${ourUserId}>`
  const trimmed = text.trimStart()
  const body = trimmed.startsWith(ours) ? trimmed.slice(ours.length).trimStart() : text
  return unescaped(
    body.replace(marked, (...[whole, sign, target, label]: readonly [string, string, string, string?]) => {
      if (sign === '#') return label ? `#${label}` : whole
      if (sign === '@') return whole
      if (sign === '!') return `@${label || target.replace(/^subteam\^/, '')}`
      const address = target.replace(/^mailto:/, '')
      return label && label !== address ? `${label} (${address})` : address
    }),
  )
}

function unescaped(text: string): string {
  return text.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&amp;', '&')
}
