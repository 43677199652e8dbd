export interface Account {
  readonly endpoint: string;
  readonly key: string;
  readonly management: string;
  readonly connectionString: string;
  /** The name of a database that no other test uses. */
  databaseName(): string;
  /** Stops the account; its exit status. */
  stop(): Promise<number | null>;
}

/**
 * Starts an account in memory. The binary is found by `binary`, by COSMONAUT or on the PATH. It has to be ready within
 * `timeout` milliseconds, a minute by default.
 */
export function start(options?: { binary?: string; args?: string[]; timeout?: number }): Promise<Account>;
