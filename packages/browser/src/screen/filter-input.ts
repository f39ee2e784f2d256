/**
 * Parses the messages of a screen client one by one (RFC 6143, 7.1 to 7.5, and TigerVNC's extensions), so that keys
 * and clicks of view-only clients never reach the screen, whatever their program sends. Pure except for the state
 * of an incomplete message.
 */
export interface InputFilter {
  /** Returns the bytes that may be passed to the screen, in order; null if the client violates the protocol. */
  pass(bytes: Buffer, mayControl: boolean): Buffer | null
}

/** A valid client never sends a longer message. */
const messageMaxBytes = 256 * 1024

/** The length of a message as far as these bytes determine it; null for an unknown message. */
type Length = (bytes: Buffer) => number | null

interface MessageKind {
  /** The number of bytes that are needed to determine the length. */
  readonly headBytes: number
  readonly length: Length
  /** True for messages that control the screen: keys, clicks, pasted text and size changes. */
  readonly isInput: boolean
}

const looking = (bytes: number): MessageKind => ({ headBytes: 1, length: () => bytes, isInput: false })
const acting = (bytes: number): MessageKind => ({ headBytes: 1, length: () => bytes, isInput: true })

const messages: ReadonlyMap<number, MessageKind> = new Map([
  [0, looking(20)], // SetPixelFormat
  [2, { headBytes: 4, length: (bytes: Buffer) => 4 + 4 * bytes.readUInt16BE(2), isInput: false }], // SetEncodings
  [3, looking(10)], // FramebufferUpdateRequest
  [4, acting(8)], // KeyEvent
  [5, acting(6)], // PointerEvent
  // ClientCutText; a negative length is that of the extended clipboard.
  [6, { headBytes: 8, length: (bytes: Buffer) => 8 + Math.abs(bytes.readInt32BE(4)), isInput: true }],
  [150, looking(10)], // EnableContinuousUpdates
  [248, { headBytes: 9, length: (bytes: Buffer) => 9 + bytes.readUInt8(8), isInput: false }], // ClientFence
  [251, { headBytes: 8, length: (bytes: Buffer) => 8 + 16 * bytes.readUInt8(6), isInput: true }], // SetDesktopSize
  // QEMU's extended key event, the only QEMU message that Xvnc supports.
  [255, { headBytes: 2, length: (bytes: Buffer) => (bytes.readUInt8(1) === 0 ? 12 : null), isInput: true }],
])

const versionBytes = 12
const versions = /^RFB 003\.00[78]\n$/

export function createInputFilter(): InputFilter {
  let step: 'version' | 'security' | 'begin' | 'messages' = 'version'
  let rest: Buffer = Buffer.alloc(0)

  /** The next complete piece; `wait` if more bytes are needed, `refuse` if it is invalid. */
  function next(mayControl: boolean): { take: number; out: Buffer } | 'wait' | 'refuse' {
    switch (step) {
      case 'version': {
        if (rest.length < versionBytes) return 'wait'
        const version = rest.subarray(0, versionBytes)
        step = 'security'
        return versions.test(version.toString('latin1')) ? { take: versionBytes, out: version } : 'refuse'
      }
      case 'security':
        step = 'begin'
        // Accepts only the security type None, because the screen offers no other.
        return rest[0] === 1 ? { take: 1, out: rest.subarray(0, 1) } : 'refuse'
      case 'begin':
        step = 'messages'
        // Requests a shared session whatever the client requested, so that no watcher can disconnect the others.
        return { take: 1, out: Buffer.from([1]) }
      case 'messages': {
        const kind = messages.get(rest[0] ?? -1)
        if (!kind) return 'refuse'
        if (rest.length < kind.headBytes) return 'wait'
        const length = kind.length(rest)
        if (length === null || length > messageMaxBytes) return 'refuse'
        if (rest.length < length) return 'wait'
        const out = kind.isInput && !mayControl ? Buffer.alloc(0) : rest.subarray(0, length)
        return { take: length, out }
      }
    }
  }

  return {
    pass(bytes, mayControl) {
      rest = Buffer.concat([rest, bytes])
      const passed: Buffer[] = []
      while (rest.length > 0) {
        const piece = next(mayControl)
        if (piece === 'refuse') return null
        if (piece === 'wait') break
        passed.push(piece.out)
        rest = rest.subarray(piece.take)
      }
      return Buffer.concat(passed)
    },
  }
}
