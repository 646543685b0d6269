/** Settings, and what the start of the process hands in: everybody may ask for these. */
import { Module, type DynamicModule, type ValueProvider } from '@nestjs/common';

@Module({})
export class ConfigModule {
  static of(values: readonly ValueProvider[]): DynamicModule {
    const providers = [...values];
    return { module: ConfigModule, global: true, providers, exports: providers };
  }
}
