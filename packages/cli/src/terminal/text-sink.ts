/** The used part of a stream that text is written to. */
export interface TextSink {
  write(text: string): unknown
  readonly isTTY?: boolean | undefined
  readonly columns?: number | undefined
  /** Registers a listener for changes of the terminal window's size. */
  on?(event: 'resize', listener: () => void): unknown
  off?(event: 'resize', listener: () => void): unknown
}
