/**
 * `pg`'s client, never without a listener for errors: between the pool letting a client go and the next owner taking
 * it, a broken connection would otherwise end the process. Whoever uses the client still sees its query fail.
 */
import pg from 'pg';

export class GuardedClient extends pg.Client {
  constructor(config?: string | pg.ClientConfig) {
    super(config);
    this.on('error', () => undefined);
  }
}
