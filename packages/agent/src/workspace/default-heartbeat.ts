/**
 * What HEARTBEAT.md says until somebody writes it, newest first. A file that holds an older text is given the newest
 * when it is next read; anything else is its owner's and is never touched. So a text that has left the house stays here.
 */
export const defaultHeartbeats: readonly [string, ...string[]] = [
  `# HEARTBEAT

What you look at by yourself, each time you wake up.

- Open tasks that were given to you: go on with what you can do, and say what keeps the others.
- Unread signals: act on those that concern you.
- Your disk: delete what nobody needs any more before it is full.
- What you promised in the last days and did not do yet.

Write your own rules here. While this text stands unchanged you are woken only when there is something to look at.
`,
  '# HEARTBEAT\n',
]
