/**
 * The default content of HEARTBEAT.md, newest first. A file that contains an older default is replaced by the
 * newest when it is next read; any other content belongs to its owner and is never changed. So a released
 * default stays in this list.
 */
export const defaultHeartbeats: readonly [string, ...string[]] = [
  `# HEARTBEAT

- Continue open tasks that were given to you; report what blocks the others.
- Act on unread signals that concern you, and keep promises of the last days.
- Delete files that are no longer needed before the disk is full.

Write your own rules here. While this text is unchanged, a heartbeat runs only when there is something to check.
`,
  `# HEARTBEAT

What you check at each heartbeat.

- Open tasks that were given to you: continue with what you can do, and report what blocks the others.
- Unread signals: act on those that concern you.
- Your disk: delete files that are no longer needed before it is full.
- Promises of the last days that you have not kept yet.

Write your own rules here. While this text is unchanged, a heartbeat runs only when there is something to check.
`,
  `# HEARTBEAT

What you look at by yourself, each time you wake up.

- Open tasks that were given to you: go on with what you can do, and say what keeps the others.
- Unread signals: act on those that concern you.
- Your disk: delete what is not needed any more before it is full.
- What you promised in the last days and did not do yet.

Write your own rules here. While this text is unchanged you are woken only when something needs a look.
`,
  '# HEARTBEAT\n',
]
