/** The text in place of a secret that is not known any more: it is shown once. */
const unknownSecret = 'the secret of the webhook'

/** Returns the lines of a shell that send a signed event. Pure. */
export function signedExample(url: string, secret: string | null): string {
  return [
    `SECRET=${quoted(secret ?? unknownSecret)}`,
    `BODY='{"event":"test","text":"Hello"}'`,
    `SIGNATURE=$(printf %s "$BODY" | openssl dgst -sha256 -hmac "$SECRET" -hex | sed 's/.* //')`,
    `curl -X POST ${quoted(url)} -H 'content-type: application/json' \\`,
    `  -H "x-webhook-signature: $SIGNATURE" --data-binary "$BODY"`,
  ].join('\n')
}

/** Quotes a text for a shell. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`
}
