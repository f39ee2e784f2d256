/** The changes of references that a push asks for. */
export interface Push {
  readonly deletes: readonly { readonly name: string; readonly from: string }[]
  readonly moves: readonly { readonly name: string; readonly from: string; readonly to: string }[]
  readonly creates: readonly { readonly name: string; readonly to: string }[]
}

const noObject = /^0+$/
/** `OLD NEW NAME`: git reads hexadecimal digits of either case, and the rest of the line is the name. */
const command = /^([0-9a-f]{40}|[0-9a-f]{64}) ([0-9a-f]{40}|[0-9a-f]{64}) (.+)$/i
const shallow = /^shallow [0-9a-f]{40,64}$/i

/**
 * Reads the commands at the beginning of a push, which git writes as packets of one line each, ended by a packet of
 * length 0 (gitprotocol-pack). Null if any of them is not read exactly, such as in a signed push: a part that git
 * reads and this function does not would be hidden from the person who decides. Pure.
 */
export function readPush(body: Buffer): Push | null {
  const push = { deletes: [] as Push['deletes'][number][], moves: [] as Push['moves'][number][] }
  const creates: Push['creates'][number][] = []
  let at = 0
  for (;;) {
    const digits = body.toString('latin1', at, at + 4)
    if (!/^[0-9a-f]{4}$/i.test(digits)) return null
    const length = Number.parseInt(digits, 16)
    if (length === 0) break
    if (length <= 4 || at + length > body.length) return null
    // The first line has capabilities behind a zero byte.
    const [line = ''] = body
      .toString('utf8', at + 4, at + length)
      .replace(/\n$/, '')
      .split('\0', 1)
    at += length
    if (shallow.test(line)) continue
    const [, from = '', to = '', name = ''] = command.exec(line) ?? []
    if (name === '') return null
    if (noObject.test(to)) push.deletes.push({ name, from: from.toLowerCase() })
    else if (noObject.test(from)) creates.push({ name, to: to.toLowerCase() })
    else push.moves.push({ name, from: from.toLowerCase(), to: to.toLowerCase() })
  }
  const isEmpty = push.deletes.length + push.moves.length + creates.length === 0
  return isEmpty ? null : { ...push, creates }
}
